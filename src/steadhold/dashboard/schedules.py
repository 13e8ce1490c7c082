"""Schedules: what each runs and when, the instants to come with why some are left out, and what became of them."""

from __future__ import annotations

import asyncio
from typing import Final

from steadhold.dashboard.facts import Facts
from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View, instant

READ, WRITE = "schedules:read", "schedules:write"
PREVIEWED: Final = 12
RUNS_SHOWN: Final = 50


async def index(view: View) -> Outcome:
    """All schedules, in the order of their names."""
    listed = await view.get("/v1/schedules", limit=100, cursor=view.query.get("cursor"))
    return view.show("schedules/index.html", listed=listed, cadence=cadence, target=target)


async def one(view: View) -> Outcome:
    """A schedule: its spec, what is to come in its zone, and what became of its instants."""
    return await _one(view, None)


async def _one(view: View, no: Refused | None) -> Outcome:
    id = view.params["id"]
    found, preview, runs = await asyncio.gather(
        view.get("/v1/schedules", id),
        view.get("/v1/schedules", id, "preview", count=PREVIEWED),
        view.get("/v1/schedules", id, "runs", limit=RUNS_SHOWN, cursor=view.query.get("cursor")),
    )
    return view.show(
        "schedules/one.html", schedule=found.facts, preview=preview.facts, runs=runs, cadence=cadence, target=target,
        no=no,
    )  # fmt: skip


def cadence(spec: Facts) -> str:
    """When a spec runs, in words: its expression and zone, its interval, or its instant."""
    if cron := spec.get("cron"):
        return f"{cron} in {spec['time_zone']}"
    if seconds := spec.get("every_seconds"):
        return f"every {seconds} s"
    return f"once, {spec['at']}"


def target(spec: Facts) -> tuple[str, str, str]:
    """What a spec starts: the kind, its type, and for an inbox its name."""
    to = spec.part("target")
    job = to and to.part("job")
    if job is not None:
        return "job", job["type"], ""
    inbox = to and to.part("inbox")
    return ("inbox", inbox["type"], inbox["inbox"]) if inbox is not None else ("", "", "")


async def trigger(view: View) -> Outcome:
    """Run it now."""
    return await view.act("/schedules", "trigger", _one)


async def pause(view: View) -> Outcome:
    """Let no instant run."""
    return await view.act("/schedules", "pause", _one, revision=view.number("revision"))


async def resume(view: View) -> Outcome:
    """Let instants run again."""
    return await view.act("/schedules", "resume", _one, revision=view.number("revision"))


async def backfill(view: View) -> Outcome:
    """Run past instants, from one moment and before another; a moment typed without its zone is UTC."""
    said = {name: instant(view.form.get(name, "").strip()) for name in ("from", "to")}
    return await view.act("/schedules", "backfill", _one, body=said)


async def delete(view: View) -> Go | Outcome:
    """Delete what was shown."""
    try:
        await view.send("DELETE", "/v1/schedules", view.params["id"], revision=view.number("revision"))
    except Refused as no:
        if no.status == 404:
            raise
        return await _one(view, no)
    return view.go("/schedules")


ROOM = Room(
    "schedules", "Schedules", "Time", scope=READ,
    pages=(Page("/schedules", index, READ), Page("/schedules/{id}", one, READ)),
    actions=(
        Action("/schedules/{id}/trigger", trigger, WRITE, done="It runs: the newest of the runs below."),
        Action("/schedules/{id}/pause", pause, WRITE, done="Paused: no instant runs."),
        Action("/schedules/{id}/resume", resume, WRITE, done="Its instants run again."),
        Action("/schedules/{id}/backfill", backfill, WRITE, done="Those instants run, each once."),
        Action("/schedules/{id}/delete", delete, WRITE, done="The schedule was deleted."),
    ),
)  # fmt: skip
