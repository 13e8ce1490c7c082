"""The pages that a server tells about itself: one source in Markdown, served as it is and as HTML."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from steadhold.server import rooms
from steadhold.server.capabilities import VERSION
from steadhold.web.codes import PROBLEMS

GROUPS: Final = (
    ("Start", ("start", "concepts", "identity", "lost-answers", "compare")),
    (
        "Rooms",
        (
            *("operations", "access", "state", "context", "locks", "jobs", "effects", "events", "inboxes"),
            *("schedules", "approvals", "webhooks", "commits", "envelopes"),
        ),
    ),
    (
        "Ways in",
        (
            *("sdk", "library", "worker", "cli", "mcp", "agents", "dashboard", "typescript", "mounted"),
            *("sinks", "testing"),
        ),
    ),
    ("Operate", ("operate", "settings", "telemetry")),
    ("Reference", ("http", "errors")),
    ("Recipes", ("orders", "protected-table")),
)
"""What the index lists under which heading, in this order. A page that is in none comes last, under `More`."""

_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_HEADING: Final = re.compile(r"<h([2-4])>(.*?)</h\1>")
_WIDE: Final = re.compile(r"<(pre|table)>")
"""What may be wider than a screen, and so must be reached by the keyboard to be moved."""
_INSIDE: Final = re.compile(r'\b(href|src)="/')
_NO_WORD: Final = re.compile(r"[^a-z0-9_]+")
PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="{root}/docs/style.css">
<link rel="icon" href="{root}/docs/icon.svg" type="image/svg+xml"></head>
<body><nav><a href="{root}/docs">steadhold</a></nav><main>
{body}</main>
<footer><a href="{root}{source}">This page as Markdown</a> ·
<a href="{root}/v1/capabilities">What this server has</a>{people}</footer>
</body></html>
"""
PEOPLE: Final = ' · <a href="{ui}">Dashboard</a>'
STYLE: Final = """:root{color-scheme:light dark;--paper:#fff;--ink:#1c2126;--link:#0b4f9c}
@media (prefers-color-scheme:dark){:root{--paper:#14181c;--ink:#e6e9ec;--link:#8ab8f5}}
body{font:1rem/1.6 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;
background:var(--paper);color:var(--ink)}
a{color:var(--link)}
h1{font-size:1.8rem;line-height:1.25}p,li,h1,h2,h3{overflow-wrap:anywhere}
h2{margin-top:2.2rem}p,ul,ol,h1,h2,h3{max-width:46rem}
nav{padding:.5rem 0 1.5rem}footer{padding:3rem 0 1rem;font-size:.9rem}
table{border-collapse:collapse;display:block;overflow-x:auto}
th,td{border:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.3rem .6rem;text-align:left;
vertical-align:top}td code{overflow-wrap:anywhere}
pre{overflow-x:auto;padding:.8rem;background:color-mix(in srgb,currentColor 8%,transparent)}
code{font-size:.92em}img{max-width:100%;height:auto}
h2:target,h3:target,tr:target{background:color-mix(in srgb,currentColor 15%,transparent)}
@media (max-width:30rem){body{padding:.6rem}h1{font-size:1.5rem}th,td{padding:.2rem .4rem;min-width:5rem}}
"""


@functools.cache
def pages() -> dict[str, str]:
    """Every page as Markdown, by its name: the written ones, the rooms' guides, the table of problems."""
    found = dict(sorted(_written().items())) | rooms.guides()
    found["errors"] = errors(found.get("errors", "# Errors\n"))
    return found


@functools.cache
def figures() -> dict[str, bytes]:
    """Every drawing that the pages show, as SVG, by its address below `/docs/`."""
    return {f"figures/{file.name}": file.read_bytes() for file in sorted((_folder() / "figures").glob("*.svg"))}


def icon() -> bytes:
    """The sign that stands before a page's title."""
    return resources.files("steadhold").joinpath("dashboard", "static", "icon.svg").read_bytes()


def title(markdown: str, name: str) -> str:
    """The first heading of a page."""
    found = _TITLE.search(markdown)
    return found[1] if found else name


def grouped() -> list[tuple[str, list[str]]]:
    """Names of all pages under the headings of the index; what no group names comes last."""
    named = {name for _, names in GROUPS for name in names}
    groups = [*GROUPS, ("More", [name for name in pages() if name not in named])]
    found = [(heading, [name for name in names if name in pages()]) for heading, names in groups]
    return [(heading, names) for heading, names in found if names]


def index() -> str:
    """The page of pages."""
    told = (
        "Durable coordination on PostgreSQL. [Start](/docs/start) takes five minutes; [concepts](/docs/concepts) says "
        "what is promised, what is not, and which test holds it."
    )
    ways = (
        "Each page is Markdown too, at its address with `.md` behind it. For programs: [openapi.json](/openapi.json), "
        "[what this server has and how far it goes](/v1/capabilities), [llms.txt](/llms.txt)."
    )
    return "\n".join(["# steadhold", "", told, "", *_listed(""), ways, ""])


def llms() -> str:
    """The index for language models (llms.txt): every page with the address of its Markdown."""
    told = "> Durable coordination on PostgreSQL: jobs, leases, fences, exact state, receipts for every lost answer."
    return "\n".join([f"# steadhold {VERSION}", "", told, "", *_listed(".md")])


def _listed(ending: str) -> Iterator[str]:
    for heading, names in grouped():
        yield from (f"## {heading}", "")
        yield from (f"- [{title(pages()[name], name)}](/docs/{name}{ending})" for name in names)
        yield ""


def errors(page: str) -> str:
    """The page of errors, with the facts of each code under its heading, and a section for codes without one."""
    for code, kind in sorted(PROBLEMS.items()):
        facts = f"\n## {code}\n\n{kind.title}. Status {kind.status}, `next` is `{kind.next}`.\n"
        heading = f"\n## {code}\n"
        page = page.replace(heading, facts) if heading in page else page.rstrip() + "\n" + facts
    return page


@functools.lru_cache(maxsize=256)
def render(markdown: str, name: str, root: str = "", ui: str = "") -> str:
    """A page as HTML; its headings can be linked to by their words. `ui`: where people come in, if they do."""
    body: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    body = _HEADING.sub(_anchored, body).replace("<th></th>", "<td></td>")
    body = _WIDE.sub(r'<\1 tabindex="0">', body)
    if root:
        body = _INSIDE.sub(rf'\1="{html.escape(root)}/', body)
    source = f"/docs/{name}.md" if name in pages() else "/llms.txt"
    people = PEOPLE.format(ui=html.escape(ui)) if ui else ""
    told = html.escape(title(markdown, name))
    return PAGE.format(title=told, body=body, root=html.escape(root), source=source, people=people)


def _anchored(found: re.Match[str]) -> str:
    anchor = _NO_WORD.sub("-", html.unescape(re.sub(r"<[^>]+>", "", found[2])).lower()).strip("-")
    return f'<h{found[1]} id="{anchor}">{found[2]}</h{found[1]}>'


def _written() -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(_folder().rglob("*.md"))}


def _folder() -> Path:
    shipped = Path(str(resources.files("steadhold").joinpath("_docs")))
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "docs"
