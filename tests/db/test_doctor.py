from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from steadhold.db.binaries import Binaries
from steadhold.db.doctor import Finding, examine, judge, worst
from steadhold.db.embedded import Embedded
from steadhold.db.facts import Facts, gather
from steadhold.db.migrate import Migration, Standing, migrate
from steadhold.db.pooler import Pooler

SOUND = Facts(
    version=180006,
    standby=False,
    login="web",
    may_act=True,
    standing=Standing(applied=("0001_house",), pending=(), changed=(), unknown=()),
    settings={
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "idle_in_transaction_session_timeout": "1min",
        "max_connections": "100",
        "superuser_reserved_connections": "3",
    },
    skew_seconds=0.001,
    skew_error_seconds=0.001,
    oldest_snapshot_seconds=0.0,
    oldest_xid_age=1000,
    prepared_transactions=0,
    idle_slots=0,
    notification_queue=0.0,
    extensions={"plpgsql": "1.0"},
    free_bytes=2**40,
    pooler=Pooler(transactions=False, leaks=False, keeps_statements=True),
)
NEXT = Migration(2, "next", "select 1")


def setting(name: str, value: str) -> Facts:
    return replace(SOUND, settings=SOUND.settings | {name: value})


def stands(**parts: object) -> Facts:
    return replace(SOUND, standing=replace(SOUND.standing, **parts))


TABLE = {
    "too old": (replace(SOUND, version=140010), "version", "refuse", "PostgreSQL 14.10 is too old. Upgrade to 15"),
    "not yet tested": (replace(SOUND, version=190000), "version", "warn", "newer than steadhold was tested with"),
    "standby": (replace(SOUND, standby=True), "primary", "refuse", "Name the primary"),
    "no role": (replace(SOUND, may_act=False), "role", "refuse", 'grant steadhold_app to "web"'),
    "pending": (stands(pending=(NEXT,)), "migrations", "refuse", "0002_next. Run: steadhold migrate"),
    "changed": (stands(changed=(NEXT,)), "migrations", "refuse", "another text: 0002_next"),
    "newer": (stands(unknown=("0009_later",)), "migrations", "warn", "newer than this program (0009_later)"),
    "fsync": (setting("fsync", "off"), "fsync", "refuse", "Set fsync = on"),
    "torn pages": (setting("full_page_writes", "off"), "full_page_writes", "refuse", "Set full_page_writes = on"),
    "async": (setting("synchronous_commit", "off"), "synchronous_commit", "warn", "may lose their last commits"),
    "local": (setting("synchronous_commit", "local"), "synchronous_commit", "warn", "synchronous_commit is local"),
    "ahead": (replace(SOUND, skew_seconds=90.0), "clock", "warn", "+90.000 s"),
    "behind": (replace(SOUND, skew_seconds=-90.0), "clock", "warn", "-90.000 s"),
    "loses statements": (
        replace(SOUND, pooler=Pooler(transactions=True, leaks=True, keeps_statements=False)),
        *("pooler", "refuse", "`prepared_statements` = 1000 keeps some. Set it to 0"),
    ),
    "leaks": (
        replace(SOUND, pooler=Pooler(transactions=True, leaks=True, keeps_statements=True)),
        *("pooler", "warn", "was seen by another"),
    ),
    "unseen disk": (replace(SOUND, free_bytes=None), "space", "ok", "Unknown"),
    "little space": (replace(SOUND, free_bytes=2**30), "space", "warn", "1.0 GiB"),
    "no space": (replace(SOUND, free_bytes=2**20), "space", "refuse", "Make room now"),
    "old snapshot": (replace(SOUND, oldest_snapshot_seconds=3600.0), "snapshots", "warn", "open for 3600 s"),
    "prepared": (replace(SOUND, prepared_transactions=2), "snapshots", "warn", "2 prepared transactions"),
    "slots": (replace(SOUND, idle_slots=1), "snapshots", "warn", "1 replication slots"),
    "idle": (setting("idle_in_transaction_session_timeout", "0"), "idle_in_transaction", "warn", 'alter role "web"'),
    "wraparound": (replace(SOUND, oldest_xid_age=1_900_000_000), "wraparound", "refuse", "vacuum (freeze)"),
    "notifications": (replace(SOUND, notification_queue=0.75), "notifications", "warn", "75% full"),
}


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE)
def test_each_fact_has_its_finding(case: tuple[Facts, str, str, str]) -> None:
    facts, check, level, says = case
    found = [f for f in judge(facts) if f not in judge(SOUND)]
    assert [(f.check, f.level) for f in found] == [(check, level)]
    assert says in found[0].says


def test_a_sound_database_has_only_ok_findings() -> None:
    assert {f.level for f in judge(SOUND)} == {"ok"}
    assert worst(judge(SOUND)) == "ok"
    assert worst(()) == "ok"


def test_skew_within_the_measurements_error_is_no_skew() -> None:
    assert judge(replace(SOUND, skew_seconds=6.0, skew_error_seconds=3.0)) != judge(SOUND)
    assert worst(judge(replace(SOUND, skew_seconds=6.0, skew_error_seconds=3.0))) == "ok"


@pytest.mark.parametrize("levels", [("ok", "warn"), ("warn", "refuse", "ok")], ids=" ".join)
def test_the_worst_finding_counts(levels: tuple[str, ...]) -> None:
    assert worst(tuple(Finding("x", level, "y") for level in levels)) == max(levels, key=["ok", "warn", "refuse"].index)


def levels(findings: tuple[Finding, ...]) -> dict[str, str]:
    return {f.check: f.level for f in findings}


def test_a_pooler_is_judged_by_the_setting_that_is_told() -> None:
    """It may lose what nobody keeps."""
    loses = replace(SOUND, pooler=Pooler(transactions=True, leaks=False, keeps_statements=False))
    told = {n: next(f for f in judge(loses, statements=n) if f.check == "pooler") for n in (0, 1)}
    assert {n: found.level for n, found in told.items()} == {0: "warn", 1: "refuse"}
    assert "`prepared_statements` = 0 keeps none" in told[0].says
    assert "`prepared_statements` = 1 keeps some" in told[1].says


async def test_a_durable_embedded_database_passes(home: Path, pg_bin: Binaries) -> None:
    async with Embedded(home / "data", pg_bin=pg_bin) as pg:
        assert levels(await examine(pg.dsn))["migrations"] == "refuse"
        await migrate(pg.dsn)
        found = levels(await examine(pg.dsn))
        assert (found["fsync"], found["migrations"], found["pooler"], found["clock"]) == ("ok",) * 4
        assert worst(await examine(pg.dsn)) != "refuse"
        assert (await gather(pg.dsn)).free_bytes is not None


async def test_a_throwaway_database_is_refused(housed: str) -> None:
    assert levels(await examine(housed))["fsync"] == "refuse"


async def test_sees_a_forgotten_transaction(housed: str) -> None:
    holder = await asyncpg.connect(housed)
    await holder.execute("begin isolation level repeatable read; select 1")
    first = (await gather(housed)).oldest_snapshot_seconds
    assert 0 < first < (await gather(housed)).oldest_snapshot_seconds
    await holder.close()


async def test_a_database_that_cannot_be_reached_is_one_finding(home: Path) -> None:
    (finding,) = await examine(f"postgresql://nobody@/none?host={home}", connect_seconds=1)
    assert (finding.check, finding.level) == ("connect", "refuse")
    assert "cannot be reached" in finding.says


def test_a_server_that_takes_more_connections_than_there_are_is_told_so():
    (found,) = [each for each in judge(SOUND, 98) if each.check == "connections"]
    assert found.level == "warn"
    assert "takes 98" in found.says
    assert "lets 97 in" in found.says
    assert judge(SOUND, 97)[-1].level == "ok"
    pooled = replace(SOUND, pooler=replace(SOUND.pooler, transactions=True))
    assert judge(pooled, 98)[-1].level == "ok"
