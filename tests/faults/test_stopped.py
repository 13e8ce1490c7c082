"""A server that is stopped in the middle of a transaction, as by a debugger or a frozen machine, holds up nobody."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import server

JSON = {"content-type": "application/json"}
MOMENTS = ["state.write", "before_commit"]


@pytest.mark.parametrize("player", ["lockstep", "single"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_others_go_on_and_the_late_one_changes_nothing(house, key, player, moment):
    """The locks of the stopped one are gone before the patience of the next ends, and its transaction with them."""
    passes = ":1" if moment == "before_commit" else ""
    with (
        server(house.dsn, failpoints=f"{moment}=stop{passes}", player=player, background=False) as first,
        server(house.dsn, player=player, background=False) as second,
        first.client(key) as stopped,
        second.client(key) as client,
    ):
        client.put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON}).raise_for_status()
        headers = {"if-match": '"1"', "idempotency-key": new_id(), **JSON}
        late = []
        sending = threading.Thread(
            target=lambda: late.append(stopped.put("/v1/state/a", content=b"1", headers=headers))
        )
        sending.start()
        _, status = os.waitpid(first.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        others = client.put("/v1/state/a", content=b"2", headers={"if-match": '"1"', **JSON})
        assert (others.status_code, others.headers["revision"]) == (200, "2")
        first.process.send_signal(signal.SIGCONT)
        sending.join(60)
        assert (late[0].status_code, late[0].json()["code"]) in {
            (503, "unavailable"),
            (503, "outcome_unknown"),
            (412, "condition_false"),
        }
        assert client.get(f"/v1/operations/{headers['idempotency-key']}").status_code == 404
        again = client.put("/v1/state/a", content=b"1", headers=headers)
        assert (again.status_code, again.json()["current_revision"]) == (412, 2)
        assert client.get("/v1/state/a").content == b"2"
        assert "Traceback" not in first.said()
