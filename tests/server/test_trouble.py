"""What players and drivers raise, as a client is told it."""

from __future__ import annotations

import asyncpg
import pytest

from steadhold.db.errors import HouseError, StandbyError
from steadhold.db.pool import PoolClosedError
from steadhold.play.single import Busy, OutcomeUnknown, Unavailable
from steadhold.server.trouble import trouble
from steadhold.web.codes import PROBLEMS


@pytest.mark.parametrize(
    "error,code,status",
    [
        (Busy(), "too_many_requests", 429),
        (Busy("operations.claim"), "operation_in_flight", 409),
        (Busy("state.write"), "busy", 503),
        (OutcomeUnknown(), "outcome_unknown", 503),
        (Unavailable("10.0.0.1 refused"), "unavailable", 503),
        (HouseError("grant steadhold_app to bob"), "unavailable", 503),
        (StandbyError("standby"), "unavailable", 503),
        (PoolClosedError(), "unavailable", 503),
        (ConnectionRefusedError("10.0.0.1"), "unavailable", 503),
        (TimeoutError(), "unavailable", 503),
        (asyncpg.TooManyConnectionsError("too many"), "unavailable", 503),
        (asyncpg.AdminShutdownError("bye"), "unavailable", 503),
        (asyncpg.InternalClientError("another operation (2) is in progress"), "unavailable", 503),
        (asyncpg.DiskFullError("no space"), "unavailable", 503),
    ],
)
def test_known_trouble_has_a_code_says_when_and_shows_nothing(error, code, status):
    problem = trouble(error)
    assert (problem.code, PROBLEMS[code].status) == (code, status)
    assert dict(problem.headers)["retry-after"] == "1"
    assert "10.0.0.1" not in problem.detail
    assert "bob" not in problem.detail


@pytest.mark.parametrize(
    "error", [ValueError("x"), AssertionError("x"), asyncpg.UndefinedColumnError("x"), KeyError("x")]
)
def test_what_nobody_foresaw_has_none(error):
    assert trouble(error) is None
