"""What to do next where that depends on the command that was typed, or on the address that was asked.

Nothing here names an option that the command does not have.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click
import msgspec

from steadhold.cli.exits import next_of

if TYPE_CHECKING:
    from steadhold.sdk.errors import OutcomeUnknown, Problem

DOORS: Final = "/v1"
ENDS: Final = ("delete", "rm")
"""Commands whose user wants nothing made."""
MAKES: Final = "create"
"""The command that makes what must not be there, and is told of no revision."""
NAMES_A_CHANGE: Final = ("--idempotency-key", "--key")
DIFFERS: Final = {"--owner": "owner"}
"""Options that are another at each run unless they are said, and the member of the request that each becomes."""
CALLED: Final = {"inbox": {"inbox": "name"}, "consumers": {"consumer": "name"}, "locks": {"lock": "name"}}
"""What the arguments of a room are called in sentences about all rooms."""
LISTED: Final = {
    "inbox ack": ("consumers ls {name}", "inbox ls"),
    "consumers ls": ("inbox ls",),
    "consumers create": ("inbox ls",),
    "consumers show": ("consumers ls {inbox}", "inbox ls"),
    "consumers delete": ("consumers ls {inbox}", "inbox ls"),
    "doors ls": ("inbox ls",),
    "doors create": ("inbox ls",),
    "doors show": ("doors ls {inbox}", "inbox ls"),
    "doors rotate": ("doors ls {inbox}", "inbox ls"),
    "doors delete": ("doors ls {inbox}", "inbox ls"),
    "context resolve": ("context revisions PATH",),
    "webhooks delivery": ("webhooks deliveries ID",),
    "webhooks cancel": ("webhooks deliveries ID",),
    "resend": ("webhooks deliveries ID",),
    "trigger": ("webhooks ls",),
    "listen": ("webhooks ls", "inbox ls"),
}
"""What lists the names that a command takes, where that is not the `ls` of its room; of several, any may be missing."""
_REPLAYED: Final = "`steadhold webhooks replay ID --since TIME` told the id of the replay that it began."
UNLISTED: Final = {
    "commit": "The item that the brackets name is about what is not there; the `ls` of its room lists what is.",
    "webhooks replayed": _REPLAYED,
    "webhooks cancel-replay": _REPLAYED,
    "events tail": "Nothing has happened to it. `steadhold events append {aggregate} TYPE --create` begins it.",
}
"""What to say of names that nothing lists."""


def next_step(problem: Problem, ctx: click.Context, url: str) -> str:
    """What helps against a refusal, in a sentence; empty where nothing more is known than its code tells."""
    if problem.status in {404, 405} and urlsplit(url).path.endswith(DOORS):
        return f"{url} ends in {DOORS}, which every request adds: leave it out of STEADHOLD_URL and --url."
    if problem.code == "not_found" and ctx.params.get("workspace"):
        return "--workspace is for operators' keys: any other key belongs to one workspace, and sees no other."
    if _is_of_a_revision(problem, ctx) and (kept := _other("revisions", ctx)):
        return f"`{kept}` lists those that are kept."
    if problem.code == "not_found":
        return _listing(ctx)
    if problem.code == "condition_false" and ctx.command.name == MAKES:
        return _there_already(ctx)
    if problem.code == "condition_false" and "--if-match" in options(ctx.command):
        return _condition(problem.extras.get("current_revision"), ctx)
    if problem.code == "count_changed" and "--expect-count" in options(ctx.command):
        return f"Look again, then decide anew: --expect-count {problem.extras.get('count')} is how many there are now."
    return next_of(problem, _typed_for(ctx))


def once_more(lost: OutcomeUnknown, ctx: click.Context) -> str:
    """How to say a change again whose fate nobody knows, as the same request; empty where nothing names it."""
    named = _option(NAMES_A_CHANGE, ctx.command)
    if named is None or not lost.operation_id:
        return ""
    key = ctx.params.get(named.name or "") or lost.operation_id  # of several requests each has one that begins with it
    words = [named.opts[0], key, *_unsaid(lost.request, ctx)]
    return f"run the same command again with {shlex.join(words)}"


def _unsaid(request: Any, ctx: click.Context) -> Iterator[str]:
    """What was sent for options that were not said, and would be another the next time."""
    for name, member in DIFFERS.items():
        option, body = _option((name,), ctx.command), getattr(request, "body", None)
        if body and option is not None and ctx.params.get(option.name or "") is None:
            yield from (name, str(msgspec.json.decode(body)[member]))


def _option(names: Sequence[str], command: click.Command) -> click.Option | None:
    """The option of a command that is called by one of these names."""
    return next((one for one in command.params if isinstance(one, click.Option) and {*one.opts} & {*names}), None)


def _is_of_a_revision(problem: Problem, ctx: click.Context) -> bool:
    """Whether an older revision was asked for, and is not kept or never was."""
    asked = ctx.params.get("revision") is not None
    return problem.code == "revision_pruned" or (problem.code == "not_found" and asked)


def _typed_for(ctx: click.Context) -> dict[str, str]:
    """What was typed, as a shell takes it, by the names that sentences about all rooms have for it."""
    said = {name: value for name, value in ctx.params.items() if isinstance(value, str | int) and value}
    room = ctx.parent.info_name if ctx.parent else None
    said |= {called: said[name] for called, name in CALLED.get(room or "", {}).items() if name in said}
    return {name: shlex.quote(str(value)) for name, value in said.items()}


def options(command: click.Command) -> set[str]:
    """What a command can be told by name."""
    return {word for one in command.params if isinstance(one, click.Option) for word in one.opts}


def _condition(current: object, ctx: click.Context) -> str:
    """How to go on where a name is at another revision than was said."""
    created = bool(ctx.params.get("create"))
    if isinstance(current, int):
        if created:
            return f"Read what is there. To replace it say --if-match {current} instead of --create."
        return f"Read it again, then decide anew: --if-match {current} is what is there now."
    if created:
        return ""
    if "--create" in options(ctx.command):
        return "There is nothing to replace: --create writes it."
    return f"There is nothing of this name any more, or never was. {_listing(ctx)}".rstrip()


def _there_already(ctx: click.Context) -> str:
    """How to see what is there, where it was to be made."""
    seen = _other("show", ctx)
    return "It is there already, and nothing was changed." + (f" `{seen}` tells how it stands." if seen else "")


def _other(name: str, ctx: click.Context) -> str:
    """Another command of the same room, as it would be typed; empty where there is none."""
    room = ctx.parent.command if ctx.parent else None
    if not isinstance(room, click.Group) or ctx.parent is None:
        return ""
    found = room.get_command(ctx.parent, name)
    return _typed(ctx.parent.command_path, found, ctx) if found else ""


def _listing(ctx: click.Context) -> str:
    """Which command lists what there is; and how a name comes to be, where a `put` makes it."""
    root, _, words = ctx.command_path.partition(" ")
    if words in UNLISTED:
        return UNLISTED[words].format_map(_words(ctx))
    if words in LISTED:
        return _lists([f"{root} {one.format_map(_words(ctx))}" for one in LISTED[words]])
    ls, put = _other("ls", ctx), _other("put", ctx)
    said = _lists([ls] if ls else [])
    if put and ctx.command.name not in ENDS:
        return f"{said.rstrip('.')}; `{put} --create` makes it."
    return said


def _lists(commands: Sequence[str]) -> str:
    if len(commands) > 1:
        nouns = ", or no such ".join(one.split()[1].removesuffix("s") for one in commands)
        quoted = " and ".join(f"`{one}`" for one in commands)
        return f"No such {nouns}: {quoted} list those that there are."
    return "".join(f"`{one}` lists those that there are." for one in commands)


def _typed(words: str, command: click.Command, ctx: click.Context) -> str:
    """A command with the arguments that it needs, as far as they were typed already."""
    typed = _words(ctx)
    needed = [one for one in _arguments(command) if one.required or one.name == "value"]
    said = [typed.get(one.name or "") if one.required else None for one in needed]
    told = [word or one.make_metavar(ctx) for word, one in zip(said, needed, strict=True)]
    return " ".join([words, command.name or "", *told])


def _words(ctx: click.Context) -> dict[str, str]:
    """The arguments that were typed, as a shell takes them; what was not typed by what stands for it."""
    said: dict[str, str] = {}
    for one in _arguments(ctx.command):
        word = ctx.params.get(one.name or "")
        said[one.name or ""] = shlex.quote(word) if word and isinstance(word, str) else one.make_metavar(ctx)
    return said


def _arguments(command: click.Command) -> list[click.Argument]:
    return [one for one in command.params if isinstance(one, click.Argument)]
