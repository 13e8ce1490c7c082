"""The guide says what is so: its table of lost answers is run, row by row."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest

from steadhold.operations.routes import ROUTES
from steadhold.play.caller import play
from steadhold.play.single import Unavailable
from tests.operations.test_plans import aged_id

pytestmark = pytest.mark.docs

GUIDE = files("steadhold.operations").joinpath("guide.md").read_text()


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(title):
    rows = [line.strip("|").split("|") for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


LOST = {row[0]: row[1:] for row in table("When the answer was lost")}


def said(answer):
    """An answer as the table tells it: status, and code or state."""
    word = answer.code if answer.status >= 400 else answer.json.get("state", "")
    return f"{answer.status}" + (f" `{word}`" if word else "")


async def send(anna, key="op", name="thing"):
    return await anna("POST", f"/v1/things/{name}", idempotency_key=key)


async def lost(house, anna, *, effect):
    """A request whose answer nobody saw."""
    if effect:
        await send(anna)


async def no_answer(house, anna, effect):
    await lost(house, anna, effect=effect)
    return await send(anna)


async def only_to_know(house, anna, effect):
    await lost(house, anna, effect=effect)
    return await anna("GET", "/v1/operations/op")


async def not_committed(house, anna, effect):
    """It commits between the reading and the request to abandon it, or never."""
    assert said(await anna("GET", "/v1/operations/op")) == "404 `operation_not_committed`"
    await lost(house, anna, effect=effect)
    return await anna("POST", "/v1/operations/op/abandon")


async def condition_false(house, anna, effect):
    await (lost(house, anna, effect=True) if effect else send(anna, "before"))
    return await send(anna)


async def abandoned(house, anna, effect):
    await lost(house, anna, effect=effect)
    await anna("POST", "/v1/operations/op/abandon")
    return await send(anna)


async def mismatch(house, anna, effect):
    await send(anna, name="another")
    return await send(anna)


async def expired(house, anna, effect):
    return await send(anna, aged_id(-8 * 86_400))


ROWS = {
    "no answer, or 503 `outcome_unknown`": no_answer,
    "no answer, and you only want to know": only_to_know,
    "404 `operation_not_committed`": not_committed,
    "412 `condition_false` under the same id": condition_false,
    "409 `operation_abandoned`": abandoned,
    "422 `operation_mismatch`": mismatch,
    "410 `operation_expired`": expired,
}
IN_FLIGHT = "409 `operation_in_flight`"


def test_every_row_is_run():
    assert set(LOST) == {*ROWS, IN_FLIGHT}


@pytest.mark.parametrize("effect", [True, False])
@pytest.mark.parametrize("row", ROWS)
async def test_the_table_of_lost_answers(house, anna, row, effect):
    answer = await ROWS[row](house, anna, effect)
    cell = LOST[row][1 if effect else 2]
    if cell.startswith("never"):
        assert answer.status == 201 or said(answer) not in row
        assert answer.headers.get("idempotent-replayed") == "true"
    else:
        assert cell.startswith(said(answer))
        assert ("Idempotent-Replayed" in cell) == ("idempotent-replayed" in answer.headers)


@pytest.mark.parametrize("effect", [True, False])
async def test_the_table_of_lost_answers_while_it_is_in_flight(house, anna, database, workspace, effect):
    """Another connection plays the very request; its commit, or its end without one, is what the next one finds."""
    sent = Recorded()
    house.doors.above = replace(house.doors.above, play=sent)
    await send(anna)
    house.doors.above = replace(house.doors.above, play=house.player.play)
    with database.enter(workspace) as elsewhere, elsewhere.transaction(force_rollback=not effect):
        play(elsewhere, sent.call)
        waiting = await send(anna)
        assert (said(waiting), waiting.headers["retry-after"]) == (IN_FLIGHT, "1")
    answer = await send(anna)
    cell = LOST[IN_FLIGHT][1 if effect else 2]
    assert cell.startswith(str(answer.status))
    assert ("Idempotent-Replayed" in cell) == ("idempotent-replayed" in answer.headers)


class Recorded:
    """In the place of the player: it keeps the call instead of playing it."""

    async def __call__(self, call):
        self.call = call
        raise Unavailable


def test_every_door_stands_there():
    told = {re.match(r"`(\S+ [^\s`]+)", row[0])[1] for row in table("Routes")}
    assert told == {f"{route.method} {route.path}" for route in ROUTES}


def test_the_program_in_your_own_transaction_runs(conn, workspace):
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    told = {"conn": conn}
    for _ in range(2):
        exec(program.replace('"acme"', repr(workspace)).replace("0198c0de", "opaque"), told)
        assert told["outcome"].revision == 1
