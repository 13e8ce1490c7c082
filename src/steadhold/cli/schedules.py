"""`steadhold schedules`: when a job runs, when it will, and what became of each time it was due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Measure, Whole, limited
from steadhold.cli.bodies import Verb, body, given
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import an_id, if_match
from steadhold.cli.show import Out, printed
from steadhold.cli.when import moment

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.schedule_shapes import PreviewItem, Run, Schedule

LISTED: Final = ("id", "when", "next_at", "paused", "starts")
COMING: Final = ("local_time", "scheduled_at", "note")
RAN: Final = ("scheduled_at", "local_time", "kind", "outcome", "job_id", "note")
FLAGS: Final = ("paused", "made_again")
NOTES: Final = {
    "gap": "left out: clocks jump over it",
    "first_pass": "left out: it comes twice, the second runs",
    "second_pass": "left out: it came before, and ran then",
}


@click.group()
def schedules() -> None:
    """Jobs at their times: each instant of a schedule is recorded once, also after an outage."""


def _steers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a schedule that is there; a revision and an operation id are passed on as they are."""
    only = if_match("Only at this revision.")
    return click.argument("id")(only(named(printed(changes(command)))))


@schedules.command(cls=Verb)
@click.argument("id", type=an_id)
@click.argument("job_type", metavar="[TYPE]", required=False)
@body("INPUT", required=False)
@click.option("--cron", metavar="EXPR", help="Five fields, or a macro such as @daily; with --time-zone.")
@click.option("--time-zone", metavar="ZONE", help="An IANA name, such as Europe/Riga or UTC.")
@click.option("--every-seconds", type=Whole(min=1), metavar="N", help="From --starts-at on, or on whole hours.")
@click.option("--at", type=moment, metavar="TIME", help="Once, as in 2026-11-29T16:00:00Z.")
@click.option(
    "--gap", type=click.Choice(["run_after", "skip"]), help="Times that clocks jump over. [default: run_after]"
)
@click.option("--fold", type=click.Choice(["first", "second", "both"]), help="Times that come twice. [default: first]")
@click.option("--missed", type=click.Choice(["skip", "latest", "all"]), help="After an outage. [default: latest]")
@click.option("--window-seconds", type=Whole(min=1), metavar="N", help="Missed longer ago: never run.")
@click.option("--max-runs", type=Whole(min=1), metavar="N", help="At most so many of those missed, the newest.")
@click.option(
    "--overlap", type=click.Choice(["skip", "coalesce", "enqueue"]), help="While one runs. [default: coalesce]"
)
@click.option("--sequential", is_flag=True, help="Enqueued jobs run after each other.")
@click.option("--jitter-seconds", type=Whole(min=0), metavar="N", help="Each job up to so much later.")
@click.option("--starts-at", type=moment, metavar="TIME", help="No time before it.")
@click.option("--ends-at", type=moment, metavar="TIME", help="No time from it on.")
@click.option("--freshness-seconds", type=Whole(min=1), metavar="N", help="How old the job's evidence may be.")
@click.option("--paused", is_flag=True, help="None runs before `schedules resume`.")
@click.option("--input-ref", metavar="REF", help="A reference to the input, instead of it.")
@click.option("--priority", type=Whole(0, 9), metavar="0…9")
@click.option("--deadline-seconds", type=Measure(min=0), metavar="N", help="Failed if a job has not ended then.")
@click.option("--tag", "tags", multiple=True, help="Several may be given.")
@click.option("--inbox", metavar="NAME", help="Send an event of TYPE there instead of a job; INPUT are its data.")
@click.option("--spec", type=click.Path(exists=True, dir_okay=False), help="All of it from a JSON file, instead.")
@click.option("--create", is_flag=True, help="Make a schedule that is not there.")
@if_match("Replace this revision.")
@named
@printed
@changes
def put(
    client: Client, id: str, job_type: str | None, input: str | None, file: str | None, spec: str | None,
    create: bool, if_revision: int | None, operation_id: str | None, out: Out, **said: Any,  # noqa: FBT001
) -> None:  # fmt: skip
    """Submit jobs of TYPE at their times. --cron, --every-seconds or --at says when; --inbox gets an event instead.

    INPUT is a JSON text, kept as the bytes it is; `-` reads standard input. What is due already is settled first: a
    change makes nothing run at once, and the same again changes nothing.
    """
    if create == (if_revision is not None):
        raise click.UsageError("Say what is replaced: --create where there is none, or --if-match REVISION.")
    if (spec is None) == (job_type is None):
        raise click.UsageError("Give TYPE and options, or --spec FILE.")
    how: dict[str, Any] = {"if_revision": if_revision, "operation_id": operation_id}
    if spec is not None:
        _alone(input, file, said)
        out.one(client.schedules.put_spec(id, Path(spec).read_bytes(), **how), if_true=FLAGS)
    elif job_type is not None:
        raw, inbox = given("INPUT", input, file), said.pop("inbox")
        if inbox is None:
            out.one(client.schedules.put(id, job_type, raw=raw, **said, **how), if_true=FLAGS)
        else:
            out.one(client.schedules.put_event(id, inbox, job_type, raw=raw, **_timed(said), **how), if_true=FLAGS)


@schedules.command()
@limited()
@printed
@asks
def ls(client: Client, limit: int | None, out: Out) -> None:
    """List schedules by their ids."""
    found = islice(client.schedules.list(), limit)
    out.many(found if out.json else map(_listed, found), LISTED)


@schedules.command()
@click.argument("id")
@printed
@asks
def show(client: Client, id: str, out: Out) -> None:
    """Show a schedule; its `spec` is what --spec takes."""
    out.one(client.schedules.get(id), if_true=FLAGS)


@schedules.command()
@click.argument("id")
@click.option("--from", "start", type=moment, metavar="TIME", help="From then on. [default: now]")
@click.option("--count", type=Whole(min=1), metavar="N", help="So many.")
@printed
@asks
def next(client: Client, id: str, start: datetime | None, count: int | None, out: Out) -> None:
    """List when it will run. Local times that move or are left out where clocks are set are marked."""
    preview = client.schedules.preview(id, start=start, count=count)
    out.many(preview.items if out.json else map(_coming, preview.items), COMING)
    if preview.paused:
        click.echo("It is paused: none of these runs before `schedules resume`.", err=True)


@schedules.command()
@click.argument("id")
@limited(100)
@printed
@asks
def runs(client: Client, id: str, limit: int, out: Out) -> None:
    """List what became of its times, the newest first. Those that were skipped say why."""
    found = islice(client.schedules.runs(id), limit)
    out.many(found if out.json else map(_ran, found), RAN)


@schedules.command()
@_steers
def trigger(client: Client, id: str, out: Out, **how: Any) -> None:
    """Run it now, as far as its overlap policy lets it."""
    out.one(client.schedules.trigger(id, **how))


@schedules.command()
@_steers
@click.argument("start", metavar="FROM", type=moment)
@click.argument("end", metavar="TO", type=moment)
def backfill(client: Client, id: str, start: datetime, end: datetime, out: Out, **how: Any) -> None:
    """Run times of the past that are not recorded. They begin with FROM and end before TO.

    Those that were there are listed too, as they are: nothing runs twice. The schedule's overlap policy holds: only
    under `--overlap enqueue` each time has a job of its own; under `coalesce` the newest stands for all.
    """
    done = client.schedules.backfill(id, start, end, **how)
    found = [*done.runs, *done.existing]
    out.many(found if out.json else map(_ran, found), RAN)


@schedules.command()
@_steers
def pause(client: Client, id: str, out: Out, **how: Any) -> None:
    """Let none of its times run until `resume`. What was submitted goes on."""
    out.one(client.schedules.pause(id, **how), if_true=FLAGS)


@schedules.command()
@_steers
def resume(client: Client, id: str, out: Out, **how: Any) -> None:
    """Let its times run again from now on. Those of the pause are recorded as skipped."""
    out.one(client.schedules.resume(id, **how), if_true=FLAGS)


@schedules.command()
@click.argument("id")
@if_match("Delete this revision.", required=True)
@named
@printed
@changes
def delete(client: Client, id: str, if_revision: int, operation_id: str | None, out: Out) -> None:
    """Delete a schedule. What was due before runs; the revision that is printed is the deletion's own."""
    revision = client.schedules.delete(id, if_revision=if_revision, operation_id=operation_id)
    out.one({"id": id, "revision": revision})


def _alone(input: str | None, file: str | None, said: dict[str, Any]) -> None:
    if input is not None or file is not None or any(value not in {None, False, ()} for value in said.values()):
        raise click.UsageError("--spec says all of it: leave out the other options, or put them into the file.")


def _timed(said: dict[str, Any]) -> dict[str, Any]:
    """What of the options holds for an event, too: none that is about a job."""
    about_jobs = (
        "input_ref",
        "priority",
        "deadline_seconds",
        "tags",
        "sequential",
        "jitter_seconds",
        "freshness_seconds",
    )
    given = [name for name in about_jobs if said.pop(name) not in {None, False, ()}]
    if given or said.pop("overlap") not in {None, "enqueue"}:
        words = ", ".join(f"--{name.removesuffix('s').replace('_', '-')}" for name in given) or "--overlap"
        raise click.UsageError(f"An event is sent as it is: leave out {words}.")
    return said


def _listed(schedule: Schedule) -> dict[str, Any]:
    spec = schedule.spec
    if "cron" in spec:
        when = f"{spec['cron']} {spec['time_zone']}"
    else:
        when = f"every {spec['every_seconds']} s" if "every_seconds" in spec else f"at {spec['at']}"
    target = spec["target"]
    starts = target["job"]["type"] if "job" in target else f"{target['inbox']['type']} to {target['inbox']['inbox']}"
    return {"id": schedule.id, "when": when, "next_at": schedule.next_at, "paused": schedule.paused, "starts": starts}


def _coming(item: PreviewItem) -> dict[str, Any]:
    local, note = item.local_time, None
    if item.skipped:
        note = NOTES[item.skipped]
        local = local if item.last_local_time in {None, local} else f"{local} … {item.last_local_time}"
    elif item.moved:
        note = f"for {item.asked}, which clocks jump over" if item.moved == "gap" else "the second time it comes"
    return {"local_time": local, "scheduled_at": item.scheduled_at, "note": note}


def _ran(run: Run) -> dict[str, Any]:
    notes = [run.reason or run.code or run.event_id]
    if run.last_at is not None:
        notes.append(f"{run.count} of them, the last {run.last_at:%Y-%m-%dT%H:%M:%SZ}")
    if run.covers:
        notes.append(f"stands for {sum(each.count for each in run.covers)} more")
    elif run.outcome == "coalesced":
        notes.append("another stands for it")
    told = {name: getattr(run, name) for name in RAN[:-1]}
    return {**told, "note": ", ".join(note for note in notes if note)}
