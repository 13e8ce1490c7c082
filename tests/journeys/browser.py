"""A person before the dashboard: Debian's Chromium, with scripts and without, over a server of the test's own.

Fixtures: `site` (a server on the test database, in a thread), `person` (one browser, once with scripts and once
without), `scripted` (with scripts alone). A page is looked at by `person.looks_well()`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from steadhold import Client
from steadhold.server.app import App
from steadhold.server.listening import listen
from steadhold.server.run import serving
from steadhold.server.settings import Settings
from tests.dashboard.seats import SEALING, key_of
from tests.suites.npm import absent, modules

CHROMIUM = Path("/usr/bin/chromium")
AXE = "axe-core@4.14.1"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SHOTS = os.environ.get("STEADHOLD_SHOTS", "")


@dataclass
class Site:
    """A server, where it answers, and keys to it."""

    url: str
    workspace: str
    app: App
    loop: asyncio.AbstractEventLoop

    def run(self, work):
        """Await something within the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def key(self, *scopes, kind="person", workspace=None):
        """A new key: every scope, if none is named."""
        return self.run(key_of(self.app, workspace or self.workspace, kind=kind, scopes=scopes or ("*:*",)))

    def client(self, key=None):
        """The SDK, to put something there: `with site.client() as c: c.jobs.submit(…)`."""
        return Client(self.url, api_key=key or self.key())


@contextmanager
def standing(dsn, workspace, **settings):
    """A server on this database for as long as the block."""
    usual = {"background": False, "sealing_key": SEALING, "webhooks_allow": ("http://127.0.0.0/8:*",)}
    made = Settings(database_url=dsn, pool_size=4, port=0, **{**usual, **settings})
    told, found = threading.Event(), []

    ended = asyncio.Event()

    async def live():
        app, listener = App(made), listen(made)
        async with serving(app, listener) as server:
            found.append(
                Site(f"http://127.0.0.1:{listener.getsockname()[1]}", workspace, app, asyncio.get_running_loop())
            )
            told.set()
            await ended.wait()
            server.stop()
        listener.close()

    def run():
        try:
            asyncio.run(live())
        finally:
            told.set()

    thread = threading.Thread(target=run)
    thread.start()
    told.wait(60)
    try:
        assert found, "the server did not start"
        yield found[0]
    finally:
        if found:
            found[0].loop.call_soon_threadsafe(ended.set)
        thread.join(30)


@dataclass
class Person:
    """One browser before the dashboard of a site."""

    site: Site
    page: object
    scripts: bool
    axe: str
    said: list = field(default_factory=list)
    expected: set = field(default_factory=set)

    def log_in(self, key=None, to="/ui"):
        """Type a key at the login; ends at `to`."""
        self.page.goto(f"{self.site.url}{to}")
        self.page.get_by_label("Key", exact=True).fill(key or self.site.key())
        self.page.get_by_role("button", name="Log in").click()
        self.page.locator("#main").wait_for()
        return self

    def go(self, path):
        """Open a page by its address below `/ui`; what it answered."""
        return self.page.goto(f"{self.site.url}/ui{path}")

    def press(self, name, **where):
        """Press a button or open what a summary hides; of several, the first that is seen."""
        self.page.locator("button:visible, summary:visible, a.button:visible").filter(has_text=name).first.click(
            **where
        )

    def fill(self, label, text):
        """Fill a field by its label."""
        self.page.get_by_label(label, exact=True).locator("visible=true").fill(text)

    def reads(self, text):
        """Wait until this text is seen."""
        self.page.locator("main").get_by_text(text).first.wait_for(timeout=40_000)
        return True

    def comes_to_read(self, text):
        """Wait until the page shows this text: with scripts by itself, without as often as it is read again."""
        found = self.page.locator("main").get_by_text(text, exact=True).first
        while not self.scripts and not found.is_visible():
            self.page.reload()
        found.wait_for()
        return True

    def may_see(self, status):
        """The next pages may answer with this status, of which a browser tells its console."""
        self.expected.add(f"the server responded with a status of {status}")

    def looks_well(self, name=""):
        """No console error, nothing wider than the window, nothing that axe finds; `name` keeps screenshots."""
        if self.scripts:
            self.page.evaluate(self.axe)
            found = self.page.evaluate("async rules => (await axe.run(document, rules)).violations", RULES)
            told = [f"{one['id']}: {one['help']}: {[node['html'] for node in one['nodes']][:3]}" for one in found]
            assert not told, "\n".join(told)
            wide = self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            assert not wide, "the page is wider than the window"
        self.unharmed()
        if name and SHOTS and self.scripts:
            self.shoot(name)
        return True

    def unharmed(self):
        """No script was refused or run that is not ours, and nothing failed."""
        told = [line for line in self.said if not any(part in line for part in self.expected)]
        assert not told, "\n".join(told)
        return True

    def shoot(self, name):
        """Keep how it looks: desktop and phone, light and dark."""
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            for where, size in (("desktop", DESKTOP), ("phone", PHONE)):
                self.page.set_viewport_size(size)
                self.page.screenshot(path=Path(SHOTS) / f"{name}-{where}-{scheme}.png")
        self.page.set_viewport_size(DESKTOP)
        self.page.emulate_media(color_scheme="light")


@contextmanager
def before(browser, site, axe, *, scripts=True, size=DESKTOP):
    """A person before a site."""
    context = browser.new_context(java_script_enabled=scripts, viewport=size, base_url=site.url)
    page = context.new_page()
    page.set_default_timeout(40_000)
    made = Person(site, page, scripts, axe)
    page.on("console", lambda line: made.said.append(line.text) if line.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: made.said.append(str(error)))
    page.on("dialog", lambda dialog: (made.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    try:
        yield made
    finally:
        context.close()


@pytest.fixture
def chromium():
    """A browser of the test's own, for Playwright keeps a loop running that others' tests would meet.

    Chromium as root needs to be told that there is no sandbox.
    """
    if not CHROMIUM.exists():
        absent("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe(pytestconfig):
    """The source of axe-core, which finds what keeps people out."""
    return (modules(pytestconfig, "axe", AXE) / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def site(dsn, workspace):
    """A server on the test database, without background work."""
    with standing(dsn, workspace) as made:
        yield made


@pytest.fixture
def busy_site(fresh_database):
    """A server with background work, on a database of its own."""
    with standing(fresh_database.dsn, fresh_database.new_workspace(), background=True) as made:
        yield made


@pytest.fixture
def people(chromium, axe):
    """Put persons before sites: `people(site, scripts=False)`."""
    with ExitStack() as stack:
        yield lambda site, **how: stack.enter_context(before(chromium, site, axe, **how))


@pytest.fixture(params=["scripts", "plain"])
def person(request, people, site):
    """Somebody before the site: once with scripts, once without."""
    return people(site, scripts=request.param == "scripts")


@pytest.fixture
def scripted(people, site):
    """Somebody before the site, with scripts."""
    return people(site)
