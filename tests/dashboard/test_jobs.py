"""The pages of jobs: lists by filters, one job with all that became of it, and what is done to one or to many."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec
import pytest

from steadhold.kit.ids import new_id
from tests.dashboard.hostile import HOSTILE, unsafe

EXACT = b'{"b":1.10, "a":[9007199254740993,1e400,-0],"\\u0041":null}'


@pytest.fixture
def post(door):
    async def asked(path, operation=None, **body):
        headers = {"idempotency_key": operation} if operation else {}
        made = await door("POST", path, msgspec.json.encode(body), **headers)
        assert made.status in {200, 201, 202}, made.body
        return made.json

    return asked


@pytest.fixture
def submit(post):
    async def submitted(type="resize", operation=None, **more):
        return (await post("/v1/jobs", operation or new_id(), type=type, **{"input": {}, **more}))["job_id"]

    return submitted


@pytest.fixture
def claim(post):
    async def claimed(type="resize", worker="w1"):
        (job,) = (await post("/v1/jobs:claim", worker=worker, types=[type], limit=1))["jobs"]
        return job

    return claimed


async def failed(submit, claim, post, type="resize", **more):
    id = await submit(type, **more)
    job = await claim(type)
    said = {"state": "failed", "error_code": "no_disk", "message": "The disk is gone", "class": "permanent"}
    await post(f"/v1/jobs/{id}/settle", fence=job["fence"], outcome=said)
    return id


async def state_of(door, id):
    return (await door("GET", f"/v1/jobs/{id}")).json["state"]


def listed(page):
    assert page.status == 200, page.text
    return re.findall(r'class="id" href="/ui/jobs/([0-9a-f-]{36})"', page.text)


async def audited(door, kind):
    return [row["resource"] for row in (await door("GET", f"/v1/audit?kind={kind}")).json["items"]]


async def test_jobs_are_listed_by_what_is_asked_for(seat, submit, claim, post):
    lost = await failed(submit, claim, post)
    waiting = await submit("mail", unique_key="u1", tags=["red"])
    other = await submit("resize")
    for query, found in (
        ("", {lost, waiting, other}),
        ("?state=failed", {lost}),
        ("?state=accepted&type=resize", {other}),
        ("?type=mail", {waiting}),
        ("?tag=red", {waiting}),
        ("?unique_key=u1&state=", {waiting}),
        ("?created_after=2100-01-01T00:00", set()),
        ("?created_before=2100-01-01T00:00&tag=red", {waiting}),
    ):
        assert set(listed(await seat.get(f"/jobs{query}"))) == found, query
    assert "no_disk" in (await seat.get("/jobs?state=failed")).text
    assert (await seat.get("/jobs?state=strange")).code == "bad_query"


async def test_a_long_list_goes_on_with_its_filters(seat, post, door):
    jobs = [{"type": "mail", "input": n} for n in range(60)]
    await post("/v1/jobs:batch", new_id(), items=jobs)
    page = await seat.get("/jobs?type=mail")
    next = re.search(r'rel="next" href="/ui(/jobs\?[^"]+)"', page.text)[1].replace("&amp;", "&")
    assert "type=mail" in next
    assert (len(listed(page)), len(listed(await seat.get(next)))) == (50, 10)


async def test_a_job_shows_its_leases_fences_stages_receipts_and_effects(seat, submit, claim, post, door):
    id = await submit(operation="the-submission", correlation_id="order-7", tags=["red"])
    first = await claim()
    await post(f"/v1/jobs/{id}/settle", fence=first["fence"], outcome={"state": "accepted"})
    second = await claim(worker="w2")
    stage = msgspec.json.encode({"fence": second["fence"], "result": {"pixels": 7}})
    assert (await door("PUT", f"/v1/jobs/{id}/checkpoints/decode", stage)).status in {200, 201}
    effect = {"effect_id": "charge:1", "kind": "charge", "target": "venue", "request_digest": "sha256:" + "0" * 64}
    await post("/v1/effects", **effect, job_id=id, job_fence=second["fence"])
    running = (await seat.get(f"/jobs/{id}")).text
    for told in ("admitted", "claimed", "handed back", "worker w2", "stage decode", "order-7", "held until"):
        assert told in running, told
    assert f"attempt 1, fence {first['fence']}, worker w1" in running
    assert f"attempt 1, fence {second['fence']}, worker w2" in running
    assert 'href="/ui/operations/the-submission"' in running
    assert "effect: execution planned" in running
    assert 'href="/ui/effects/charge:1"' in running
    assert "pixels" in running
    done = {"state": "completed", "result": {"file": "a.png"}}
    await post(f"/v1/jobs/{id}/settle", fence=second["fence"], outcome=done)
    ended = (await seat.get(f"/jobs/{id}")).text
    assert ("a.png" in ended, "hx-get" in ended, "Retry" in ended) == (True, False, True)
    assert "hx-get" in running


async def test_a_job_that_waits_says_for_what(seat, submit, claim, post):
    id = await submit()
    job = await claim()
    wait = {"state": "waiting", "stage": "nod", "for": {"signal": "go"}, "until": "2100-01-01T00:00:00Z"}
    await post(f"/v1/jobs/{id}/settle", fence=job["fence"], outcome=wait)
    text = (await seat.get(f"/jobs/{id}")).text
    assert "<code>nod</code> waits for signal <code>go</code>" in text
    assert "for signal" in (await seat.get("/jobs")).text


async def test_input_and_result_are_exact(seat, door):
    body = b'{"type":"resize","input":' + EXACT + b"}"
    id = (await door("POST", "/v1/jobs", body, idempotency_key=new_id())).json["job_id"]
    claimed = await door("POST", "/v1/jobs:claim", b'{"worker":"w","types":["resize"],"limit":1}')
    fence = int(re.search(rb'"fence":(\d+)', claimed.body)[1])
    said = b'{"fence":%d,"outcome":{"state":"completed","result":%s}}' % (fence, EXACT)
    assert (await door("POST", f"/v1/jobs/{id}/settle", said)).status == 200
    page = await seat.get(f"/jobs/{id}")
    for token in ("1.10", "9007199254740993", "1e400", "-0", "\\u0041"):
        assert page.text.count(token) >= 2
    for what in ("input", "result"):
        file = await seat.get(f"/jobs/{id}/{what}")
        assert (file.body, file.headers["content-type"]) == (EXACT, "application/octet-stream")
        assert file.headers["content-disposition"].startswith(f'attachment; filename="{id}-{what}.json"')


async def test_without_the_scope_no_payload_is_shown(seated, seat, door, submit, claim, post):
    id = await submit(input={"pin": "ZEBRA"})
    job = await claim()
    stage = msgspec.json.encode({"fence": job["fence"], "result": {"pin": "ZEBRA"}})
    await door("PUT", f"/v1/jobs/{id}/checkpoints/one", stage)
    await post(f"/v1/jobs/{id}/heartbeat", fence=job["fence"], progress={"pin": "ZEBRA"})
    await post(f"/v1/jobs/{id}/settle", fence=job["fence"], outcome={"state": "completed", "result": {"pin": "ZEBRA"}})
    assert (await seat.get(f"/jobs/{id}")).text.count("ZEBRA") == 3
    reader = await seated("jobs:read")
    for path in ("/jobs", f"/jobs/{id}", f"/jobs/{id}/live"):
        assert "ZEBRA" not in (await reader.get(path)).text
    for what in ("input", "result"):
        assert (await reader.get(f"/jobs/{id}/{what}")).code == "missing_scope"


async def test_the_live_part_is_a_part(seat, submit):
    id = await submit()
    part = await seat.get(f"/jobs/{id}/live")
    assert (part.status, "<html" in part.text, id in part.text) == (200, False, True)
    assert (await seat.get(f"/jobs/{new_id()}")).code == "not_found"


async def test_receipts_are_shown_to_whoever_may_read_them(seated, submit):
    id = await submit(operation="the-submission")
    assert "the-submission" not in (await (await seated("jobs:read")).get(f"/jobs/{id}")).text
    assert "the-submission" in (await (await seated("jobs:read", "jobs:submit")).get(f"/jobs/{id}")).text


async def test_a_job_is_cancelled_with_a_reason(seat, submit, door):
    id = await submit()
    done = await seat.post(f"/jobs/{id}/cancel", reason="not wanted")
    assert (done.status, done.location) == (303, f"/ui/jobs/{id}")
    assert await state_of(door, id) == "cancelled"
    assert "The job was asked to stop." in (await seat.get(f"/jobs/{id}")).text
    assert await audited(door, "dashboard.jobs.cancel") == [f"/v1/jobs/{id}/cancel"]


async def test_a_running_job_is_asked_to_stop(seat, submit, claim):
    id = await submit()
    await claim()
    await seat.post(f"/jobs/{id}/cancel", reason="too slow")
    text = (await seat.get(f"/jobs/{id}")).text
    assert ("asked it to stop" in text, "too slow" in text) == (True, True)
    assert "Cancel the job" not in text


async def test_an_ended_job_is_retried_as_another_one(seat, submit, claim, post, door):
    lost = await failed(submit, claim, post)
    done = await seat.post(f"/jobs/{lost}/retry")
    new = done.location.rpartition("/")[2]
    assert new != lost
    assert await state_of(door, new) == "accepted"
    page = (await seat.get(f"/jobs/{new}")).text
    assert ("admitted as a retry" in page, lost in page) == (True, True)
    assert (await seat.post(f"/jobs/{new}/retry")).code == "job_not_ended"


async def test_many_are_counted_first_and_cancelled_only_as_they_were_counted(seat, submit, door):
    ids = [await submit("mail") for _ in range(3)]
    other = await submit("resize")
    offered = await seat.get("/jobs?type=mail&state=accepted")
    assert 'href="/ui/jobs:cancel?state=accepted&amp;type=mail"' in offered.text
    counted = await seat.get("/jobs:cancel?state=accepted&type=mail")
    assert "Cancel 3 jobs" in counted.text
    assert [await state_of(door, id) for id in ids] == ["accepted"] * 3
    assert await audited(door, "dashboard.jobs.cancel") == []
    done = await seat.post("/jobs:cancel", type="mail", state="accepted", count="3", reason="stop it")
    assert (done.status, "3 of 3 jobs were asked to stop" in done.text) == (200, True)
    assert [await state_of(door, id) for id in ids] == ["cancelled"] * 3
    assert await state_of(door, other) == "accepted"
    assert await audited(door, "dashboard.jobs.cancel") == ["/v1/jobs:cancel"]


async def test_a_count_that_is_not_so_any_more_does_nothing_and_counts_anew(seat, submit, door):
    ids = [await submit("mail") for _ in range(2)]
    for count in ("3", "1", "", "many"):
        page = await seat.post("/jobs:cancel", type="mail", count=count)
        assert page.status == (409 if count.isdecimal() else 200)
        assert "Cancel 2 jobs" in page.text
    assert "count_changed" in (await seat.post("/jobs:cancel", type="mail", count="9")).text
    assert [await state_of(door, id) for id in ids] == ["accepted"] * 2


async def test_many_are_retried(seat, submit, claim, post, door):
    lost = [await failed(submit, claim, post) for _ in range(2)]
    assert "Retry 2 jobs" in (await seat.get("/jobs:retry?state=failed")).text
    done = await seat.post("/jobs:retry", state="failed", count="2")
    assert "2 of 2 jobs were admitted anew" in done.text
    for id in lost:
        assert f'href="/ui/jobs/{id}"' in done.text
    assert len((await door("GET", "/v1/jobs?state=accepted")).json["items"]) == 2


async def test_those_that_are_picked_are_counted_first(seat, submit, claim, post, door):
    first, second, third = [await submit() for _ in range(3)]
    counted = await seat.post("/jobs:cancel", ids=[first, second, "../../keys/x"])
    assert ("Cancel 2 jobs" in counted.text, "keys/x" in counted.text) == (True, False)
    assert await state_of(door, first) == "accepted"
    done = await seat.post("/jobs:cancel", ids=[first, second], count="2", reason="stop")
    assert "2 of 2 jobs were asked to stop" in done.text
    assert [await state_of(door, id) for id in (first, second, third)] == ["cancelled", "cancelled", "accepted"]
    again = await seat.post("/jobs:retry", ids=[first, third], count="2")
    assert ("1 of 2 jobs" in again.text, "job_not_ended" in again.text) == (True, True)


async def test_when_nothing_is_picked_nothing_is_meant(seat, submit, door):
    id = await submit()
    assert 'name="picked"' in (await seat.get("/jobs")).text
    for verb in ("cancel", "retry"):
        page = (await seat.post(f"/jobs:{verb}", picked="yes", count="1")).text
        assert ("Pick jobs in the list first." in page, 'name="count"' in page) == (True, False)
    assert await state_of(door, id) == "accepted"
    assert "There is none." in (await seat.get("/jobs:retry")).text


async def test_a_reader_is_offered_nothing_and_may_do_nothing(seated, submit, door):
    id = await submit()
    reader = await seated("jobs:read")
    for path in ("/jobs", "/jobs?state=accepted", f"/jobs/{id}"):
        text = (await reader.get(path)).text
        assert ('name="ids"' in text, "Cancel" in text) == (False, False)
    for path in (f"/jobs/{id}/cancel", f"/jobs/{id}/retry", "/jobs:cancel", "/jobs:retry"):
        assert (await reader.post(path, ids=[id], count="1")).code == "missing_scope"
    assert (await reader.get("/jobs:cancel")).code == "missing_scope"
    assert (await (await seated("state:read")).get("/jobs")).status == 403
    assert await state_of(door, id) == "accepted"


async def test_what_programs_say_of_jobs_is_text(seat, submit, claim, post):
    id = await submit(input={"text": HOSTILE})
    job = await claim()
    await post(f"/v1/jobs/{id}/heartbeat", fence=job["fence"], progress={"text": HOSTILE})
    assert unsafe(await seat.get(f"/jobs/{id}"), msgspec.json.encode(HOSTILE).decode()) == []
    said = {"state": "failed", "error_code": "e", "message": HOSTILE, "class": "permanent"}
    await post(f"/v1/jobs/{id}/settle", fence=job["fence"], outcome=said)
    assert unsafe(await seat.get(f"/jobs/{id}"), HOSTILE) == []
    other = await submit()
    await seat.post(f"/jobs/{other}/cancel", reason=HOSTILE)
    assert unsafe(await seat.get(f"/jobs/{other}")) == []
    made = await post("/v1/jobs", new_id(), type="read", input_ref=HOSTILE)
    assert unsafe(await seat.get(f"/jobs/{made['job_id']}"), HOSTILE) == []


async def test_what_is_asked_for_is_text(seat):
    for path in ("/jobs?type=", "/jobs?tag=", "/jobs?created_after=", "/jobs:cancel?unique_key="):
        assert unsafe(await seat.get(path + quote(HOSTILE))) == []
    assert unsafe(await seat.post("/jobs:cancel", type=HOSTILE, ids=[HOSTILE], count="1")) == []
