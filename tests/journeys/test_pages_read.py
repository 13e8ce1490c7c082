"""The pages are read in a browser: nothing that axe finds, nothing wider than the window, no error on the console."""

from __future__ import annotations

import pytest

from steadhold.server import guides
from tests.journeys.browser import DESKTOP, PHONE, axe, chromium, people, site  # noqa: F401 - fixtures

PAGES = sorted(guides.pages())
THIRDS = [PAGES[n::3] for n in range(3)]


@pytest.mark.parametrize("names", THIRDS, ids=["first", "second", "third"])
@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)], ids=["light", "dark"])
def test_pages_are_read(people, site, names, scheme, size):  # noqa: F811 - fixtures
    reader = people(site, size=size)
    reader.page.emulate_media(color_scheme=scheme)
    for address in ("/docs", *(f"/docs/{name}" for name in names)):
        reader.page.goto(f"{site.url}{address}")
        assert reader.looks_well(), address
        assert reader.page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")


def test_a_drawing_has_its_colours_of_the_readers_choice(people, site):  # noqa: F811 - fixtures
    reader = people(site)
    shown = []
    for scheme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=scheme)
        reader.page.goto(f"{site.url}/docs/events")
        shown.append(reader.page.locator("img").first.screenshot())
    assert shown[0] != shown[1]
    assert reader.unharmed()
