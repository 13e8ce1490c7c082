"""The published SQL function: any language takes part in its own transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from steadhold import blobs, context, events
from steadhold.db import binaries
from steadhold.events import Happened, Spec, relaying
from steadhold.fences import Wanted
from steadhold.kit.outcome import Missing
from tests.events.verbs import grant

ROLE = f"a_program_{os.getpid()}"  # roles are the whole server's, and so other test processes' too
NODE = shutil.which("node")
PROGRAM = Path(__file__).with_name("append_event.mjs")
CALL = "select steadhold.append_event(%s, %s, %s, %s)"


@pytest.fixture
def program(database, workspace):
    """A connection of somebody who was granted the function, and nothing else that the house does not grant itself."""
    with database.connect() as owner:
        owner.execute(
            f"do $$ begin create role {ROLE} login in role steadhold_app;"
            " exception when duplicate_object then null; end $$"
        )
        owner.execute(f"grant execute on function steadhold.append_event to {ROLE}")
        owner.execute(f"grant usage on schema steadhold to {ROLE}")
        owner.execute(f"set role {ROLE}")
        owner.execute("select set_config('steadhold.workspace', %s, false)", [workspace])
        yield owner


def append(conn, aggregate, expected, type="order.placed", **more):
    named = {"aggregate_id": aggregate, "expected_revision": expected, "type": type, **more}
    told = ", ".join(f"{name} => %({name})s" for name in named)
    return conn.execute(f"select steadhold.append_event({told})", named).fetchone()[0]


def refused(conn, *args, **more):
    with pytest.raises(psycopg.Error) as error, conn.transaction():
        append(conn, *args, **more)
    return error.value.sqlstate


def test_it_is_what_append_is(program, committed, workspace):
    assert append(program, "o-1", None, data=b'{"a":1}', state="placed") == 1
    assert append(program, "o-1", 1, "order.paid", from_state="placed", state="paid", causation_id="o-1@1") == 2
    with committed.transaction():
        found = events.aggregate(committed, workspace, "o-1")
        told = events.history(committed, workspace, "o-1", 0, 10).events
        made = events.append(committed, workspace, "o-1", 2, [Happened("order.sent")], from_state="paid", state="sent")
    assert (found.revision, found.state, made.revision) == (2, "paid", 3)
    assert [(event.type, event.data, event.event_id) for event in told] == [
        ("order.placed", b'{"a":1}', "o-1@1"), ("order.paid", None, "o-1@2"),
    ]  # fmt: skip


def test_what_is_refused_leaves_nothing(program, committed, workspace):
    assert refused(program, "job:1", None) == "SH422"
    assert refused(program, "a b", None) == refused(program, None, None) == "SH422"
    assert refused(program, "a", None, type=None) == "SH422"
    assert refused(program, "a", None, event_id="b@2") == "SH422"
    assert refused(program, "a", 1) == "SH412"
    append(program, "a", None, event_id="mine", state="x")
    assert refused(program, "a", None) == "SH412"
    assert refused(program, "a", 1, from_state="y") == "SH412"
    assert refused(program, "b", None, event_id="mine") == "SH409"
    assert refused(program, "c", None, owner="lock:c") == "SH409"
    with committed.transaction():
        assert isinstance(events.aggregate(committed, workspace, "b"), Missing)


def test_an_owned_aggregate_needs_its_grant(program, committed, workspace, clock):
    with committed.transaction():
        grant(committed, workspace, [Wanted("lock:o", "me", 60)])
    held = {"fence_subject": "lock:o", "fence": 1}
    assert append(program, "o", None, owner="lock:o", **held) == 1
    assert refused(program, "o", 1) == "SH409"
    assert refused(program, "o", 1, fence_subject="lock:o", fence=2) == "SH409"
    assert append(program, "o", 1, **held) == 2
    clock.move(61)
    assert refused(program, "o", 2, **held) == "SH409"


def test_a_type_permits_its_edges_alone(program, committed, workspace):
    with committed.transaction():
        events.put_type(committed, workspace, "order", ["placed", "paid"], [("placed", "paid")], None)
    assert refused(program, "o", None, aggregate_type="order", state="lost") == "SH409"
    assert append(program, "o", None, aggregate_type="order", state="placed") == 1
    assert append(program, "o", 1, state="paid") == 2
    assert refused(program, "o", 2, state="placed") == "SH409"


def test_who_subscribed_is_given_its_events(program, committed, workspace):
    with committed.transaction():
        events.subscribe(committed, workspace, "s", Spec(("*",), "inbox:x"), None)
    append(program, "o", None)
    with committed.transaction():
        assert relaying.match(committed, workspace, 10) == 2  # and what tells of the subscription, but not to itself
        assert len(events.publications(committed, workspace, "pending", None, 10)) == 1


def test_nobody_may_call_it_who_was_not_granted_it(committed):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        committed.execute(CALL, ["a", None, "t", None])


def test_it_sees_the_workspace_of_the_session_alone(program):
    program.execute("select set_config('steadhold.workspace', '', false)")
    assert refused(program, "a", None) == "SH422"


SCRIPT = (
    "begin; select set_config('steadhold.workspace', '{workspace}', true);"
    """ select steadhold.append_event('o', {expected}, 'order.placed', '{{"a":1}}'); {end};"""
)


def by_psql(dsn, script):
    psql = next(path for found in binaries.everywhere() if (path := found.folder / "psql").exists())
    return subprocess.run(
        [psql, "-X", "-v", "ON_ERROR_STOP=1", dsn, "-c", script], check=False, capture_output=True, timeout=60
    )


def by_node(dsn, script):
    at = conninfo_to_dict(dsn)
    socket = f"{at['host']}/.s.PGSQL.{at.get('port', 5432)}"
    return subprocess.run(
        [NODE, PROGRAM, socket, at["user"], at["dbname"], script], check=False, capture_output=True, timeout=60
    )


@pytest.mark.parametrize("speak", [by_psql, *([by_node] if NODE else [])])
def test_another_language_takes_part_in_its_own_transaction(database, committed, workspace, speak):
    def history():
        with committed.transaction():
            found = events.history(committed, workspace, "o", 0, 10)
        return [] if isinstance(found, Missing) else [event.data for event in found.events]

    def said(expected, end):
        return speak(database.dsn, SCRIPT.format(workspace=workspace, expected=expected, end=end))

    assert said("null", "rollback").returncode == 0
    assert history() == []
    assert said("null", "commit").returncode == 0
    assert history() == [b'{"a":1}']
    late = said("7", "commit")
    assert (late.returncode != 0, history()) == (True, [b'{"a":1}'])


@pytest.mark.parametrize("more", [
    {"event_id": ""}, {"event_id": "a b"}, {"event_id": "x" * 201}, {"schema_version": 0}, {"correlation_id": "a b"},
    {"causation_id": ""}, {"data_ref": ""}, {"data_ref": "x" * 1_001}, {"state": ""}, {"aggregate_type": "a/b"},
    {"owner": "lock:another"}, {"owner": "job:7"}, {"data": b"x" * 65_537}, {"data": b"1", "data_ref": "r"},
])  # fmt: skip
def test_it_takes_what_the_door_takes(program, more):
    assert refused(program, "c", None, **more) == "SH422"


def test_each_of_its_events_is_found_by_its_id(program, committed, workspace):
    assert refused(program, "l" * 185, None) == "SH422"
    append(program, "l" * 185, None, event_id="mine")
    append(program, "l" * 184, None)
    with committed.transaction():
        for name in ("mine", "l" * 184 + "@1"):
            assert events.get(committed, workspace, name).event_id == name


def test_what_its_event_refers_to_in_context_is_pinned(program, committed, workspace):
    with committed.transaction():
        context.put(committed, workspace, "report", b"a report", None)
    kept = f"context:report@1#sha256:{blobs.digest_of(b'a report').hex()}"
    assert refused(program, "o", None, data_ref=kept.replace("@1", "@2")) == "SH422"
    append(program, "o", None, data_ref=kept)
    owners = committed.execute("select owner from steadhold.context_pins").fetchall()
    assert owners == [("event:o@1",)]
