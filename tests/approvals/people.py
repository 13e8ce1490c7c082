"""Who takes part in the tests of approvals, and what they ask about."""

from __future__ import annotations

import json

from steadhold import approvals
from steadhold.approvals import Artifact, Asked, By
from steadhold.kit.ids import new_id

ONE = Artifact.of("plan", "1", b"first")
TWO = Artifact.of("plan", "2", b"second")
HOUR = 3_600.0
NOBODY = "0198f000-0000-7000-8000-000000000000"


def person(name, *scopes):
    """Somebody whose key may vote."""
    return By(name, "person", scopes or ("approvals:*",), f"key-of-{name}")


AGENT = By("agent", "service", ("approvals:request", "approvals:use"), "key-of-agent")
ANNA, BERT, CARL = person("anna"), person("bert"), person("carl")


def asked(artifact=ONE, **kw):
    """A question about an artifact."""
    return Asked(**{"id": new_id(), "artifact": artifact, "action": "deploy", "title": "Deploy it?",
                    "expires_in_seconds": HOUR, **kw})  # fmt: skip


class Desk:
    """The verbs of approvals on one connection, so that a test reads as what happens."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(approvals, verb)(self.conn, self.workspace, *args, **kw)

    def ask(self, by=AGENT, **kw):
        """Ask, and answer the approval's id."""
        return self.request(asked(**kw), by=by).approval.id

    def approve(self, id, by=ANNA, hash=ONE.hash, **kw):
        return self.vote(id, "approve", hash, by=by, **kw)

    def reject(self, id, by=ANNA, hash=ONE.hash, **kw):
        return self.vote(id, "reject", hash, by=by, **kw)

    def act(self, id, artifact=ONE, use_id="u", **kw):
        return self.use(id, artifact, use_id, by=AGENT, **kw)

    def approved(self, **kw):
        """Ask and approve, and answer the approval's id."""
        id = self.ask(**kw)
        assert self.approve(id).approval.state == "approved"
        return id

    def state(self, id):
        """The outcome and the grant, as they stand."""
        found = self.get(id)
        return found.state, found.grant

    def history(self, id):
        """The events, in order, each with what it tells beside the artifact."""
        found = self.conn.execute(
            "select type, aggregate_revision, data from steadhold.events where aggregate_id = %s"
            " order by aggregate_revision",
            [f"approval:{id}"],
        ).fetchall()
        assert [revision for _, revision, _ in found] == list(range(1, len(found) + 1)), "revisions have a gap"
        about = ("reference", "version", "hash")
        told = [(type.removeprefix("approval."), json.loads(bytes(data))) for type, _, data in found]
        assert all([data[name] for name in about] == [getattr(ONE, name) for name in about] for _, data in told)
        return [(type, {k: v for k, v in data.items() if k not in about}) for type, data in told]

    def told(self, id):
        """The names of the events, in order."""
        return [type for type, _ in self.history(id)]
