"""The index of pages, for people and for machines, and the drawings that pages show."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import httpx2
import pytest

from steadhold.server import guides
from tests.docs.blocks import PAGES, ROOT

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = sorted(guides.figures())
SHOWN = re.compile(r"!\[([^\]]+)\]\((?:/docs/|docs/)?(figures/[\w-]+\.svg)\)")


def test_every_page_is_listed_once_and_the_first_is_the_start():
    listed = [name for _, names in guides.grouped() for name in names]
    assert sorted(listed) == sorted(guides.pages())
    assert listed[:4] == ["start", "concepts", "identity", "lost-answers"]
    assert [heading for heading, _ in guides.grouped()][:2] == ["Start", "Rooms"]


def test_both_indexes_have_the_groups_in_their_order():
    for text, ending in ((guides.index(), ""), (guides.llms(), ".md")):
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == [heading for heading, _ in guides.grouped()]
        linked = re.findall(rf"^- \[.+\]\(/docs/([\w-]+){re.escape(ending)}\)$", text, re.MULTILINE)
        assert linked == [name for _, names in guides.grouped() for name in names]


def test_a_page_that_no_group_names_comes_last(monkeypatch):
    monkeypatch.setattr(guides, "GROUPS", (("Start", ("start", "none-of-this-name")),))
    (start, first), (more, others) = guides.grouped()
    assert (start, first, more) == ("Start", ["start"], "More")
    assert len(others) == len(guides.pages()) - 1


def test_titles_tell_pages_apart():
    titles = [guides.title(text, name) for name, text in guides.pages().items()]
    assert len(set(titles)) == len(titles)
    assert all(title[0].isupper() for title in titles)


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_says_what_it_shows_in_light_and_in_dark(name):
    drawn = ET.fromstring(guides.figures()[name])
    labels = drawn.get("aria-labelledby").split()
    told = {part.get("id"): part.text for part in drawn if part.tag in {f"{SVG}title", f"{SVG}desc"}}
    assert drawn.get("role") == "img"
    assert set(told) == set(labels)
    assert all(len(text) > 20 for text in told.values())
    styles = "".join(drawn.itertext())
    assert "@media (prefers-color-scheme:dark)" in styles
    used = {word for part in drawn.iter() for word in (part.get("class") or "").split()}
    assert {word for word in used if f".{word}" not in styles} == set()
    assert {part.tag.removeprefix(SVG) for part in drawn.iter()} <= {
        *("svg", "title", "desc", "style", "defs", "marker", "path", "rect", "circle", "g", "text")
    }


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_served_and_shown(name, site):
    with httpx2.Client(base_url=site.url) as http:
        got = http.get(f"/docs/{name}")
    assert (got.status_code, got.headers["content-type"]) == (200, "image/svg+xml")
    assert got.content == (ROOT / "docs" / name).read_bytes()
    assert "default-src 'none'" in got.headers["content-security-policy"]
    shown = [page for page, text in guides.pages().items() if name in (path for _, path in SHOWN.findall(text))]
    assert {"concepts", "events"} <= set(shown)
    readme = SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert name in [path for _, path in readme]


@pytest.mark.parametrize("page", ["README", *sorted(page for page in PAGES if page.startswith("examples/"))])
def test_links_of_the_repositorys_own_pages_lead_to_files(page):
    folder = ROOT if page == "README" else ROOT / page
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", PAGES[page]) if "://" not in target]
    lost = [target for target in targets if not (folder / target).exists() and not target.startswith("/docs/")]
    assert lost == []
    assert [target for target in targets if target.startswith("/docs/") and target[6:] not in guides.pages()] == []


def test_links_into_pages_lead_to_headings():
    ids = {name: set(re.findall(r'id="([^"]+)"', guides.render(text, name))) for name, text in guides.pages().items()}
    links = [
        (name, target.removesuffix(".md") or name, heading)
        for name, text in guides.pages().items()
        for target, heading in re.findall(r"\]\((?:/docs/([\w.-]+))?#([^)\s]+)\)", text)
    ]
    assert links
    assert [link for link in links if link[2] not in ids[link[1]]] == []
