"""What a run of jobs must look like afterwards, checked from events, rows and what handlers noted outside."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

GRAPH = {
    "accepted": {"running", "cancelled", "failed"},
    "running": {"accepted", "waiting", "completed", "failed", "cancelled"},
}
ENDS = {"completed", "failed", "cancelled"}
STATES = ["accepted", "running", "waiting", "completed", "failed", "cancelled"]
COMPLETED = 3


@dataclass
class Row:
    """A job as it stands in the end. `n` is its input."""

    state: int
    revision: int
    fence: int
    n: int
    result: bytes | None
    error_code: str | None


class History:
    """Rows, events and stages of jobs by their ids, and what their handlers noted outside."""

    def __init__(self, rows, events, stages, notes):
        self.rows, self.events, self.stages, self.notes = rows, events, stages, notes

    @classmethod
    def read(cls, conn, workspace, notes):
        """All that the database says of a workspace's jobs, and the lines of the notes. A job's input is its number."""
        rows = conn.execute(
            "select id::text, state, revision, fence,"
            " coalesce(substring(convert_from(input, 'UTF8') from '^[0-9]+$'), '0')::int, result, error_code"
            " from steadhold.jobs where workspace = %s",
            (workspace,),
        )
        events, stages = defaultdict(list), defaultdict(dict)
        for id, revision, type, data in conn.execute(
            "select split_part(aggregate_id, ':', 2), aggregate_revision, type, data from steadhold.events"
            " where workspace = %s and aggregate_id like 'job:%%' order by aggregate_id, aggregate_revision",
            (workspace,),
        ):
            events[id].append((revision, type.removeprefix("job."), json.loads(data) if data else {}))
        for id, stage, fence, result in conn.execute(
            "select job::text, stage, fence, result from steadhold.checkpoints where workspace = %s", (workspace,)
        ):
            stages[id][stage] = (fence, json.loads(result))
        noted = [json.loads(line) for line in notes.read_bytes().splitlines()]
        return cls({row[0]: Row(*row[1:]) for row in rows}, events, stages, noted)

    def faults(self):
        """Every breach of a promise, in a sentence."""
        for id, row in self.rows.items():
            for fault in (*self._path(id, row), *self._result(id, row)):
                yield f"job {id}: {fault}"
        yield from self._outside()

    def _path(self, id, row):
        """Revisions without a gap, and one end that the row knows."""
        events = self.events[id]
        revisions = [revision for revision, _, _ in events]
        if revisions != list(range(1, row.revision + 1)):
            yield f"its events are {revisions} and its revision is {row.revision}"
        ends = [what for _, what, _ in events if what in ENDS]
        if len(ends) != 1 or row.state != STATES.index(ends[0]):
            yield f"it ended {ends}, and its state is {row.state}"
        fence = yield from self._steps(events)
        if fence != row.fence:
            yield f"its row has fence {row.fence}, its events {fence}"

    def _steps(self, events):
        """Only edges of the graph, fences that rise, and no word of an old owner; the last fence."""
        state, current = "accepted", 0
        for _, what, data in events[1:]:
            if what == "checkpointed":
                if (state, data["fence"]) != ("running", current):
                    yield f"stage {data['stage']} came under fence {data['fence']} while {state} under {current}"
                continue
            if what not in GRAPH.get(state, ()):
                yield f"it went from {state} to {what}"
            if data["fence"] < current or (what == "running") != (data["fence"] > current):
                yield f"it became {what} by fence {data['fence']} under {current}"
            state, current = what, data["fence"]
        return current

    def _result(self, id, row):
        """The result is what its stages came to."""
        tokens = [token for _, (_, token) in sorted(self.stages[id].items())]
        if row.state == COMPLETED and json.loads(row.result) != tokens:
            yield f"its result is {row.result}, its stages are {tokens}"

    def _outside(self):
        """Whoever read a stage read the same; nobody acted for one that an earlier fence had committed."""
        jobs = {row.n: id for id, row in self.rows.items()}
        for note in self.notes:
            kept = self.stages[jobs[note["n"]]].get(f"s{note['stage']}")
            if note["what"] == "seen" and (kept is None or kept[1] != note["token"]):
                yield f"{note} was seen, and {kept} is kept"
            if note["what"] == "act" and kept is not None and note["fence"] > kept[0]:
                yield f"{note} acted again on what {kept} had done"

    def count(self, type, cause=None):
        """How many events of a type, and of a cause, there are."""
        return sum(
            what == type and (cause is None or data.get("cause") == cause)
            for events in self.events.values()
            for _, what, data in events
        )
