"""Write docs/figures/overview-{light,dark}.png, what README shows of the dashboard, of a house with some work in it.

Needs Chromium (Debian's package `chromium`) and the development environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from steadhold import Client

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
CHROMIUM = Path("/usr/bin/chromium")
SIZE = {"width": 1280, "height": 860}


@contextmanager
def served() -> Iterator[dict[str, Any]]:
    """A server of its own in a folder of its own, and what it tells of itself."""
    with tempfile.TemporaryDirectory() as data:
        Path(data).chmod(0o711)  # PostgreSQL runs as another user when root runs this
        words = [sys.executable, "-m", "steadhold", "dev", "--json", "--port", "0", "--data-dir", f"{data}/dev"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "")
        finally:
            process.terminate()
            process.wait(30)


def fill(client: Client) -> None:
    """Some of everything that the overview counts."""
    for n in range(40):
        client.jobs.submit("report", {"day": n}, tags=["finance"])
    for job in client.jobs.claim("worker-1", ["report"], limit=24)[:20]:
        client.jobs.complete(job.job_id, job.fence, {"rows": 12})
    for n in range(6):
        client.jobs.submit("import", {"file": n})
    for n, job in enumerate(client.jobs.claim("worker-2", ["import"], limit=4)):
        if n < 2:
            client.jobs.fail(job.job_id, job.fence, "unreachable", klass="permanent")
        else:
            until = datetime.now(UTC) + timedelta(hours=1)
            client.jobs.wait_for(job.job_id, job.fence, "nod", {"signal": "go"}, until=until)
    client.schedules.put("nightly", "report", cron="30 2 * * *", time_zone="Europe/Berlin")
    client.locks.acquire("deploy:site", owner="anna", ttl=3600)
    orders = client.inboxes["orders"]
    orders.create()
    for n in range(12):
        orders.append("order.placed", {"order": n})
    orders.consumer("billing").create()


def shoot(told: dict[str, Any]) -> None:
    """Look at it, light and dark."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE)
        page.goto(told["dashboard"])
        page.get_by_label("Key", exact=True).fill(told["api_key"])
        page.get_by_role("button", name="Log in").click()
        page.locator("#main").wait_for()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=FOLDER / f"overview-{scheme}.png")
        browser.close()


def main() -> None:
    """Write both."""
    with served() as told:
        with Client(told["url"], told["api_key"]) as client:
            fill(client)
        shoot(told)


if __name__ == "__main__":
    main()
