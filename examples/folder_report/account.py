"""How the demo ends: what was done once, by whom, under which fence; what was found; and where to look next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from processes import CHECKOUT
from proof import Kept
from telling import Teller, many, size


def told(tell: Teller, kept: Kept, promises: Sequence[tuple[bool, str]]) -> bool:
    """Write the account; whether every promise held."""
    tell.chapter("What was done once, by whom, under which fence")
    tell.table(list(kept.rows()))
    tell.say()
    for held, promise in promises:
        tell.say(f"   {'yes' if held else 'NO '}  {promise}")
    tell.chapter(f"What was found in {kept.report['folder']}")
    found(tell, kept.report)
    return all(held for held, _ in promises)


def found(tell: Teller, report: dict[str, Any]) -> None:
    """The highlights of a report."""
    doubles, longest, unread = report["duplicates"], report["longest_line"], report["unread"]
    tell.say(
        f"   {many(report['files'], 'file')}, {size(report['bytes'])}, {many(report['lines'], 'line')}"
        f", {many(report['kinds_in_all'], 'kind')}"
    )
    kinds = [f"{kind['kind']} {kind['files']:,} ({size(kind['bytes'])})" for kind in report["kinds"][:5]]
    tell.say(f"   top kinds     {', '.join(kinds) or 'none'}")
    tell.say(f"   duplicates    {many(doubles['copies'], 'file')} too many, {size(doubles['bytes'])}")
    for group in doubles["first"][:1]:
        tell.say(f"                 most in {group['files']} x {size(group['bytes'])}: {', '.join(group['names'])}")
    if longest["bytes"]:
        tell.say(f"   longest line  {longest['bytes']:,} bytes, line {longest['line']:,} of {longest['name']}")
    if unread["count"]:
        tell.say(
            f"   unread        {many(unread['count'], 'entry').replace('entrys', 'entries')}, named in the report:"
        )
        for name, why in unread["first"][:3]:
            tell.say(f"                 {name}: {why}")
    apart = [(report["links"], "link"), (report["special"], "pipe or socket"), (report["left_out"], "folder left out")]
    if any(count for count, _ in apart):
        tell.say(f"   not entered   {', '.join(f'{count:,} {name}' for count, name in apart if count)}")


def look_around(tell: Teller, folder: Path, job_id: str, report: str) -> None:
    """The commands that show all of it again."""
    steadhold, data = _near(Path(sys.executable).with_name("steadhold")), _near(folder)
    tell.chapter("Look around: all of it is kept")
    tell.verbatim(
        [
            f"   {steadhold} dev --data-dir {data}",
            "",
            "   and from another terminal:",
            "",
            f"   export STEADHOLD_API_KEY=$(cat {data}/api_key)",
            f"   {steadhold} jobs show {job_id}",
            f"   {steadhold} jobs events {job_id}",
            f"   {steadhold} state get {report}",
            "",
            f"   The worker is {_near(Path(__file__).with_name('worker.py'))}. To begin anew: rm -r {data}",
        ]
    )


def _near(path: Path) -> str:
    """A path as one types it from the checkout."""
    inside = path.is_relative_to(CHECKOUT) and Path.cwd() == CHECKOUT
    return shlex.quote(str(path.relative_to(CHECKOUT) if inside else path))
