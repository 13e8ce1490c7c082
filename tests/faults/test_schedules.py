"""Two servers and a killed one: each instant is recorded once, with the one job it has, wherever the kill came."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta

import pytest

from tests.faults.servers import Server, server

JSON = {"content-type": "application/json"}
COUNT = 40
EVERY = 600
MOMENTS = [
    "schedules.due", "schedules.live", "jobs.admit", "schedules.record", "schedules.advance", "events.record",
    "before_commit", "after_commit",
]  # fmt: skip
BEHIND = "select exists (select from steadhold.schedules where workspace = %s and next_at <= steadhold.clock())"


def come(house, moment):
    """Let the time be just past a moment, so that the test ends long before the next instant."""
    house.clock.move((moment - house.clock.now()).total_seconds() + 0.1)


def made(url):
    """Schedules that come due together. Answers when."""
    with url.client_of() as client:
        for n in range(COUNT):
            body = {"every_seconds": EVERY, "overlap": "enqueue", "target": {"job": {"type": "t"}}}
            headers = {"if-none-match": "*", **JSON}
            found = client.put(f"/v1/schedules/s{n}", json=body, headers=headers).raise_for_status().json()
    return datetime.fromisoformat(found["next_at"])


def recorded(house, place):
    with house.connect() as conn:
        runs = conn.execute(
            "select schedule, count(*), count(distinct scheduled_at), count(job) from steadhold.schedule_runs"
            " where workspace = %s group by 1 order by 1",
            [place],
        ).fetchall()
        jobs = conn.execute("select count(*) from steadhold.jobs where workspace = %s", [place]).fetchone()[0]
    return runs, jobs


def all_recorded(house, place):
    with house.connect() as conn:
        while conn.execute(BEHIND, [place]).fetchone()[0]:
            pass


@pytest.mark.journeys
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_that_is_killed_while_it_records(house, place, key, moment):
    """Nothing of what it was recording stands, or all of it; another server records the rest, and nothing twice."""
    with server(house.dsn, background=False) as quiet:
        quiet.client_of = lambda: quiet.client(key)
        come(house, made(quiet))
        dying = Server(house.dsn, failpoints=f"{moment}=kill")
        try:
            dying.died()
        finally:
            dying.close()
        with server(house.dsn):
            all_recorded(house, place)
    runs, jobs = recorded(house, place)
    assert runs == [(f"s{n}", 1, 1, 1) for n in sorted(range(COUNT), key=lambda n: f"s{n}")]
    assert jobs == COUNT


@pytest.mark.journeys
def test_two_servers_and_a_killed_one(house, place, key):
    """Instant after instant, one of two servers is killed while both record: each is recorded once.

    At the last of them the other stands still until it was, so that one is killed in any case.
    """
    with server(house.dsn) as one:
        one.client_of = lambda: one.client(key)
        first = made(one)
        for n in range(4):
            dying = Server(house.dsn, failpoints=f"schedules.record=kill:{int(n < 3)}")
            try:
                if n == 3:
                    one.process.send_signal(signal.SIGSTOP)
                come(house, first + n * timedelta(seconds=EVERY))
                if n == 3:
                    dying.died()
                    one.process.send_signal(signal.SIGCONT)
                all_recorded(house, place)
            finally:
                dying.close()
    runs, jobs = recorded(house, place)
    assert runs == [(f"s{n}", 4, 4, 4) for n in sorted(range(COUNT), key=lambda n: f"s{n}")]
    assert jobs == COUNT * 4


@pytest.mark.journeys
@pytest.mark.parametrize(
    "moment", ["schedules.inboxes", "events.publish", "events.matched", "inboxes.append", "after_commit"]
)
def test_a_server_that_is_killed_while_it_sends(house, place, key, moment):
    """Each instant is one event in the inbox, however far the killed one came: recording, sending or appending."""
    with server(house.dsn, background=False) as quiet, quiet.client(key) as client:
        client.put("/v1/inboxes/a", json={}, headers={"if-none-match": "*"}).raise_for_status()
        for n in range(COUNT):
            target = {"inbox": {"inbox": "a", "type": "due", "data": n}}
            body = {"every_seconds": EVERY, "overlap": "enqueue", "target": target}
            headers = {"if-none-match": "*", **JSON}
            found = client.put(f"/v1/schedules/s{n}", json=body, headers=headers).raise_for_status().json()
        come(house, datetime.fromisoformat(found["next_at"]))
        dying = Server(house.dsn, failpoints=f"{moment}=kill")
        try:
            dying.died()
        finally:
            dying.close()
        with server(house.dsn):
            all_recorded(house, place)
            page = client.get("/v1/inboxes/a").json()
            while page["last_sequence"] < COUNT:
                where = f"epoch={page['epoch']}&after={page['last_sequence']}&wait_seconds=5"
                page = client.get(f"/v1/inboxes/a/events?{where}").json()
        came = client.get("/v1/inboxes/a/events?limit=1000").json()["events"]
    assert sorted(event["data"]["data"] for event in came) == list(range(COUNT))
    runs, _ = recorded(house, place)
    assert [count for _, count, *_ in runs] == [1] * COUNT
