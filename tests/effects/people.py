"""Who takes part in the tests of effects, and what is done outside."""

from __future__ import annotations

import json

from steadhold import effects, jobs
from steadhold.access import Actor
from steadhold.effects import Intent
from steadhold.kit.ids import new_id

WORKER, VENUE, OPERATOR = Actor("worker", "key-w"), Actor("venue", "key-v"), Actor("olga", "key-o")
DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


def intent(**kw):
    """A charge that is meant."""
    return Intent(**{"id": f"charge-{new_id()}", "kind": "charge", "target": "venue", "request_digest": DIGEST,
                     "amount": "12.50", "currency": "EUR", **kw})  # fmt: skip


class Desk:
    """The verbs of effects on one connection, so that a test reads as what happens."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(effects, verb)(self.conn, self.workspace, *args, **kw)

    def planned(self, **kw):
        """Plan, and answer the id."""
        return self.plan(intent(**kw), by=WORKER).effect.id

    def begin(self, id, **kw):
        return self.initiate(id, by=WORKER, **kw)

    def begun(self, **kw):
        """Plan and initiate, and answer the id."""
        id = self.planned(**kw)
        assert self.begin(id).effect.execution == "initiated"
        return id

    def ended(self, execution, **kw):
        """One that came to this."""
        id = self.begun()
        assert self.say(id, execution, **kw).effect.execution == execution
        return id

    def say(self, id, execution, by=VENUE, **kw):
        return self.outcome(id, execution, by=by, **kw)

    def pays(self, id, to, **kw):
        return self.settle(id, to, by=VENUE, **kw)

    def finds(self, id, verdict, evidence_ref="call 7", **kw):
        return self.reconcile(id, verdict, evidence_ref, by=OPERATOR, **kw)

    def sweep(self):
        return self.pass_time(100)

    def stands(self, id):
        """Its three states."""
        found = self.get(id)
        return found.execution, found.settlement, found.reconciliation

    def lines(self, id):
        """Its history, as (machine, from, to)."""
        return [(line.machine, line.from_state, line.to_state) for line in self.history(id, 0, 1000)]

    def told(self, id):
        """The names of its events, in order; no revision is without one."""
        found = self.conn.execute(
            "select type, aggregate_revision, data from steadhold.events where workspace = %s and aggregate_id = %s"
            " order by aggregate_revision",
            [self.workspace, f"effect:{id}"],
        ).fetchall()
        assert [revision for _, revision, _ in found] == list(range(1, self.get(id).revision + 1))
        assert all(json.loads(bytes(data))["kind"] == "charge" for _, _, data in found)
        return [type.removeprefix("effect.") for type, _, _ in found]

    def head(self, id):
        return self.conn.execute(
            "select revision, state, open, of from steadhold.heads where workspace = %s and subject = %s",
            [self.workspace, f"effect:{id}"],
        ).fetchone()

    def job(self, type="pay"):
        """A running job, as it was claimed."""
        jobs.submit(self.conn, self.workspace, jobs.Submission(type))
        (claimed,) = jobs.claim(self.conn, self.workspace, "w", [type], 1)
        return claimed

    def ends(self, job, said):
        return jobs.settle(self.conn, self.workspace, jobs.Settlement(job.id, job.fence, said))
