"""GitHub's webhooks come into an inbox: its real payloads, at a real server, as the guide of the example has it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import shlex
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from steadhold import AsyncClient, Client
from steadhold.sdk.errors import NotFound
from tests.suites import github

pytestmark = pytest.mark.journeys

EXAMPLE = Path(__file__).parents[2] / "examples" / "github_inbox"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def payloads(request):
    """GitHub's own examples, (event, body) each."""
    return github.payloads(request.config)


def commands(n):
    """The commands of a block of the guide, without what they say beside."""
    block = re.findall(r"```console\n(.*?)```", README, re.DOTALL)[n]
    return [line.removeprefix("$ ").partition("   #")[0].strip() for line in block.splitlines()]


class Place:
    """A development server where the guide was followed."""

    def __init__(self, told, ask, start, me):
        self.told, self.start, self.me = told, start, me
        _dev, _key, *words, self.follow = commands(0)
        self.door = [json.loads(ask(told, *shlex.split(line)[1:]) or b"{}") for line in words][-1]
        self.environ = {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
        self.url = told["url"] + self.door["url"]

    def fields(self, kind, body, delivery):
        told = hmac.digest(self.door["secret"].encode(), body, hashlib.sha256).hex()
        return {
            "content-type": "application/json",
            "x-github-event": kind,
            "x-github-delivery": delivery,
            "x-hub-signature-256": f"sha256={told}",
        }

    async def send(self, payloads, lanes=16):
        """Send all as GitHub does, some at once; the answers, in order."""
        async with httpx2.AsyncClient(timeout=30) as client:
            turn = asyncio.Semaphore(lanes)

            async def one(n, kind, body):
                async with turn:
                    return await client.post(self.url, content=body, headers=self.fields(kind, body, f"d{n}"))

            return await asyncio.gather(*[one(n, *payload) for n, payload in enumerate(payloads)])

    def activity(self, folder):
        words = [word if word != "activity.db" else folder / word for word in shlex.split(self.follow)[1:]]
        return self.start(*words, user=self.me, module=None, cwd=EXAMPLE, environ=self.environ)


@pytest.fixture
def place(dev, ask, start, me):
    program = dev(me)
    made = Place(program.told, ask, start, me)
    made.log = program.log
    return made


async def test_githubs_payloads_come_in_to_the_byte_and_once(place, payloads, folder):
    answers = await place.send(payloads)
    assert Counter(got.status_code for got in answers) == {201: len(payloads)}
    again = await place.send(payloads)
    assert [got.json() for got in again] == [{**got.json(), "duplicate": True} for got in answers]
    async with AsyncClient(place.told["url"], place.told["api_key"]) as client:
        kept = [event async for event in client.inboxes["github"].export()]
    assert [event.sequence for event in kept] == [*range(1, len(payloads) + 1)]
    came = {event.causation_id: (event.type, event.raw, event.event_id, event.source) for event in kept}
    assert came == {
        f"d{n}": (kind, body, answers[n].json()["event_id"], "door") for n, (kind, body) in enumerate(payloads)
    }
    counting = place.activity(folder)
    lines = [counting.process.stdout.readline().decode() for _ in payloads]
    counting.close()
    counting = place.activity(folder)  # it goes on where it was, and counts nothing twice
    body = b'{"repository":{"full_name":"octo/last"}}'
    assert (await place.send([("push", body)], 1))[0].json() == {**answers[0].json(), "duplicate": True}
    async with httpx2.AsyncClient() as client:
        assert (await client.post(place.url, content=body, headers=place.fields("push", body, "last"))).is_success
    assert counting.process.stdout.readline() == b"push octo/last 1\n"
    names = [json.loads(body).get("repository", {}).get("full_name", "-") for _, body in payloads]
    wanted = Counter((name, kind) for name, (kind, _) in zip(names, payloads, strict=True))
    with closing(sqlite3.connect(folder / "activity.db")) as database:
        found = {(name, kind): count for name, kind, count in database.execute("select * from activity")}
    assert found == {**wanted, ("octo/last", "push"): 1}
    assert len(lines) == sum(wanted.values())


def test_the_guides_own_sender_is_let_in_and_its_forger_is_not(place):
    _given, *lines = commands(1)
    script = "\n".join(["set -eu", *lines])
    environ = {**os.environ, "SECRET": place.door["secret"], "URL": place.url}
    ran = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=True)
    first, _, refused = ran.stdout.partition("}")
    assert json.loads(first + "}").keys() == {"event_id"}
    assert json.loads(refused)["code"] == "signature_refused"
    with Client(place.told["url"], place.told["api_key"]) as client:
        (event,) = client.inboxes["github"].export()
        assert (event.type, event.value["zen"]) == ("ping", "Keep it logically awesome.")


def test_what_is_secret_stands_in_no_log_and_no_command_shows_it_again(place, ask):
    def said(*words):
        return json.loads(ask(place.told, "doors", *words))

    at = ("github", place.door["door_id"])
    shown = said("show", *at)
    assert shown == {name: place.door[name] for name in shown}
    assert [said("ls", "github")["door_id"]] == [shown["door_id"]]
    given = ask(
        place.told, "doors", "rotate", *at, "--grace-seconds", "0", "--secret-file", "-", input=b"a" * 40 + b"\n"
    )
    rotated = json.loads(given)
    assert (rotated["revision"], rotated["secret"]) == (shown["revision"] + 1, None)
    body = b"{}"
    for fields in (place.fields("push", body, "d"), {}):
        assert httpx2.post(place.url, content=body, headers=fields).status_code == 401
    place.door["secret"] = "a" * 40
    assert httpx2.post(place.url, content=body, headers=place.fields("push", body, "d")).status_code == 201
    ask(place.told, "doors", "delete", *at, "--if-match", rotated["revision"])
    assert httpx2.post(place.url, content=body, headers=place.fields("push", body, "d")).status_code == 404
    log = place.log.read_text()
    assert "door_" not in log
    assert place.door["token"] not in log


async def test_doors_from_python(place):
    async with AsyncClient(place.told["url"], place.told["api_key"]) as client:
        assert await used(place, client, lambda answer: answer) == 2
    with Client(place.told["url"], place.told["api_key"]) as client:
        assert await used(place, client, settled) == 2


async def settled(answer):
    return answer


async def used(place, client, now):
    """Make, list and rotate doors, and see what is secret shown once; how many were deleted."""
    doors = client.inboxes["github"].doors
    made = await now(doors.create("hmac", id_from="body:order.id"))
    again = await now(doors.create("slack", secret="s" * 32, operation_id=made.door_id))
    replayed = await now(doors.create("slack", secret="s" * 32, operation_id=made.door_id))
    assert (again.secret, again.secret_shown, again.url[:12]) == (None, False, "/v1/in/door_")
    assert (replayed.url, replayed.secret_shown, replayed.door_id) == (None, True, again.door_id)
    assert (made.scheme, made.id_from, made.secret[:6]) == ("hmac", "body:order.id", "whsec_")
    listed = [door async for door in doors.list()] if now is not settled else [*doors.list()]
    assert [door.door_id for door in listed] == [place.door["door_id"], made.door_id, again.door_id]
    rotated = await now(doors.rotate(made.door_id, grace_seconds=60))
    assert rotated.old_secret_until is not None
    found = await now(doors.get(made.door_id))
    assert (found.revision, rotated.secret != made.secret) == (rotated.revision, True)
    closed = 0
    for door in (found, again):
        await now(doors.delete(door.door_id, if_revision=door.revision))
        with pytest.raises(NotFound):
            await now(doors.get(door.door_id))
        closed += 1
    return closed
