"""The TypeScript client against a real server: what it writes and reads is what the server keeps."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from steadhold.sdk import Client
from tools.write_typescript import FOLDER

pytestmark = [pytest.mark.journeys, pytest.mark.timeout(600)]  # which waits for the compiler, too
GUIDE = Path(__file__).parents[2] / "docs/typescript.md"
ORDER = '{"id": 9007199254740993, "total": 1.10}'


def worked(site, key, end):
    """Take the example's job, and end it; the bytes of its input, as the server keeps them."""
    seen = []

    def work():
        with Client(site.url, key.key) as client:
            while not (found := client.jobs.claim("w", ["invoice"], wait_seconds=10)):
                pass
            (job,) = found
            seen.append((job.job_id, client.jobs.input(job.job_id).raw))
            end(client, job)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, seen


def ran(built, site, key, program="example"):
    return built.run(f"dist/{program}.js", STEADHOLD_URL=site.url, STEADHOLD_API_KEY=key.key)


def test_json_stays_exact_both_ways(built, site, key):
    thread, seen = worked(site, key, lambda client, job: client.jobs.complete(job.job_id, job.fence, {"sent": True}))
    said = ran(built, site, key)
    assert said.returncode == 0, said.stderr
    thread.join()
    kept, rounded, told = said.stdout.splitlines()
    assert kept == "true true"
    assert rounded == '{"id":9007199254740992,"total":1.1}'
    ((job, took),) = seen
    assert took == ORDER.encode()
    assert told.startswith(f"job:{job}/result#sha256:")
    with Client(site.url, key.key) as client:
        (name,) = client.state.names("orders")
        assert client.state.get(name.name).raw == ORDER.encode()


def test_a_failure_is_told_by_its_code(built, site, key):
    fail = lambda client, job: client.jobs.fail(job.job_id, job.fence, "no_address", klass="permanent")  # noqa: E731
    thread, _ = worked(site, key, fail)
    said = ran(built, site, key)
    thread.join()
    assert said.stdout.splitlines()[-1] == "no_address"


def test_a_refusal_is_thrown_with_its_problem(built, site, key):
    with Client(site.url, key.key) as client:
        client.state.create("taken", 1)
    said = ran(built, site, key, "again")
    assert (said.returncode, "Refused: condition_false" in said.stderr) == (1, True)


def test_the_guide_shows_what_is_run():
    shown = re.findall(r"^```ts\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    code = "".join((FOLDER / file).read_text(encoding="utf-8") for file in ("example.ts", "exact.ts"))
    assert shown
    assert [block for block in shown if block not in code] == []
