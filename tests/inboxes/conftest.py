from __future__ import annotations

import pytest

from steadhold import inboxes
from steadhold.db.pool import Pool
from steadhold.inboxes import plans
from steadhold.inboxes.items import Envelope, item
from steadhold.inboxes.model import Retention, Start
from steadhold.kit.seal import Sealing
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from tests.inboxes.house import House
from tests.inboxes.street import Street

EVERYTHING = Retention(None, None, None)


def event(key, body=b"1", type="t", **more):
    return item(key, Envelope(type, **more), body)


def numbers(outcomes):
    return [outcome.sequence for outcome in outcomes]


def told(page):
    return [received.sequence for received in page.events]


def gaps(page):
    return [(gap.from_sequence, gap.to_sequence, gap.reason) for gap in page.gaps]


def restored(conn):
    conn.execute("reset role")
    conn.execute("update steadhold.house set incarnation = incarnation + 1, began_at = steadhold.clock()")
    conn.execute("set local role steadhold_app")


def lose(conn, last):
    """Leave what a backup has that was taken when `last` was the last number, and say that it was restored."""
    conn.execute("update steadhold.inboxes set last_sequence = %s", [last])
    conn.execute("delete from steadhold.inbox_events where sequence > %s", [last])
    conn.execute("delete from steadhold.inbox_keys where sequence > %s", [last])
    restored(conn)


class Door:
    """The verbs on one connection, in one workspace; the inbox is `a`."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(inboxes, verb)(self.conn, self.workspace, *args, **kw)

    def make(self, name="a", retention=EVERYTHING):
        return self.put(name, retention, None)

    def add(self, *keys, inbox="a", body=b"1"):
        return self.append(inbox, [event(key, body) for key in keys])

    def fill(self, count, inbox="a"):
        return self.add(*[f"k{n}" for n in range(1, count + 1)], inbox=inbox)

    def consume(self, name="c", at="earliest", **start):
        return self.put_consumer("a", name, Start(at, **start), None)

    def epoch(self, inbox="a"):
        return self.get(inbox).epoch

    def ack(self, sequence, name="c", epoch=None, **more):
        return self.acknowledge("a", name, epoch or self.epoch(), sequence, **more)

    def sweep(self, times=1):
        for _ in range(times):
            self.conn.execute("update steadhold.inbox_sweeps set check_at = steadhold.clock()")
            plans.sweep(self.conn, self.workspace, 10)


@pytest.fixture
def door(conn, workspace):
    return Door(conn, workspace)


@pytest.fixture(params=["lockstep", "single"])
async def house(request, dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        player = Lockstep(pool) if request.param == "lockstep" else Single(pool)
        yield await House(player, workspace).enter()
        if isinstance(player, Lockstep):
            await player.close()


@pytest.fixture
async def street(house, clock):
    street = Street(house.player, house.workspace).sealed_by(Sealing([b"k" * 32]))
    street.clock = clock
    await street.enter()
    await street.make()
    return street
