"""The pages of state: names by prefix, exact bytes, downloads, and what is sealed or hidden."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.dashboard.hostile import HOSTILE, unsafe
from tests.dashboard.sealing import sealed_for

EXACT = b'{"b":1.10, "a":[9007199254740993,1e400,-0],\n"\\u0041":"\xc3\xa9"}'


async def put(door, name, body=EXACT):
    made = await door("PUT", f"/v1/state/{quote(name)}", body, if_none_match="*")
    assert made.status == 201, made.body


async def test_numbers_and_escapes_are_shown_as_they_were_written(seat, door):
    await put(door, "orders/limits")
    page = await seat.get("/state/orders/limits")
    for token in ("1.10", "9007199254740993", "1e400", "-0", "\\u0041", "é"):
        assert token in page.text


async def test_a_download_is_the_stored_bytes_as_an_attachment(seat, door):
    await put(door, "orders/limits")
    file = await seat.get("/state:raw/orders/limits")
    assert (file.status, file.body) == (200, EXACT)
    assert file.headers["content-disposition"].startswith('attachment; filename="limits.json"')
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in file.headers["content-security-policy"]


async def test_revisions_are_listed_and_each_is_read_as_it_was(seat, door):
    await put(door, "a", b"1.0")
    assert (await door("PUT", "/v1/state/a", b"2.00", if_match='"1"')).status == 200
    page = await seat.get("/state/a?revision=1")
    assert "1.0</pre>" in page.text
    assert "which was replaced" in page.text
    assert (await seat.get("/state:raw/a?revision=1")).body == b"1.0"
    assert (await seat.get("/state:raw/a")).body == b"2.00"


async def test_a_deleted_name_shows_that_it_was(seat, door):
    await put(door, "a", b"1")
    assert (await door("DELETE", "/v1/state/a", if_match='"1"')).status == 204
    page = await seat.get("/state/a")
    assert "This name was deleted" in page.text
    assert (await seat.get("/state:raw/a?revision=1")).body == b"1"
    assert (await seat.get("/state/never")).code == "not_found"


async def test_names_are_walked_by_prefix(seat, door):
    for name in ("a", "a-b", "a/b", "a/c/d", "a/c/e", "z"):
        await put(door, name, b"1")
    page = (await seat.get("/state")).text
    assert [f'href="/ui/state/{name}"' in page for name in ("a", "a-b", "z", "a/b")] == [True, True, True, False]
    assert 'href="/ui/state?prefix=a"' in page
    below = (await seat.get("/state?prefix=a")).text
    assert [f'href="/ui/state/{name}"' in below for name in ("a", "a/b", "a/c/d", "z")] == [True, True, False, False]
    assert 'href="/ui/state?prefix=a%2Fc"' in below
    assert "2 names" in below


async def test_what_lies_deep_is_passed_over_and_none_is_missed(seat, door):
    body = b'{"items":[%s]}' % b",".join(
        b'{"op":"put","name":"many/%04d","value":1,"if_none_match":"*"}' % n for n in range(450)
    )
    assert (await door("POST", "/v1/state:batch", body)).status == 200
    await put(door, "many0", b"1")
    await put(door, "zebra/x", b"1")
    page = (await seat.get("/state")).text
    assert "200 or more names" in page
    assert 'href="/ui/state/many0"' in page
    assert 'href="/ui/state?prefix=zebra"' in page
    first = (await seat.get("/state?prefix=many")).text
    assert first.count('href="/ui/state/many/') == 200
    assert 'rel="next"' in first


@pytest.mark.parametrize("scopes", [("state:read",), ("state:read:orders",)])
async def test_a_key_without_payloads_sees_that_they_are_there_and_none_of_them(seated, door, scopes):
    await put(door, "orders/secret", b'{"pin": "ZEBRA"}')
    reader = await seated(*scopes)
    page = await reader.get("/state/orders/secret")
    assert page.status == 200
    assert "ZEBRA" not in page.text
    assert "payloads:read" in page.text
    assert "Download" not in page.text
    file = await reader.get("/state:raw/orders/secret")
    assert (file.status, file.code) == (403, "missing_scope")


async def test_a_key_of_a_prefix_sees_nothing_beside_it(seated, door):
    await put(door, "orders/a", b"1")
    await put(door, "other/b", b"1")
    reader = await seated("state:read:orders", "payloads:read")
    page = await reader.get("/state")
    assert ("prefix=orders" in page.text, "prefix=other" in page.text) == (True, False)
    assert (await reader.get("/state/other/b")).status == 403
    assert (await (await seated("jobs:read")).get("/state")).status == 403


async def test_what_is_sealed_is_shown_as_sealed(seat, door, workspace):
    envelope = await sealed_for(door, workspace, "state", "vault/a")
    page = await seat.get("/state/vault/a")
    assert 'class="pill sealed"' in page.text
    assert "nothing but envelopes" in page.text
    assert envelope.decode()[:60] not in page.text
    assert (await seat.get("/state:raw/vault/a")).body == envelope


async def test_names_and_values_are_text(seat, door):
    name = "x" + HOSTILE.replace("/", "")
    await put(door, name, b'"' + HOSTILE.replace('"', "").encode() + b'"')
    assert unsafe(await seat.get("/state"), name) == []
    assert unsafe(await seat.get(f"/state/{quote(name)}"), name, HOSTILE.replace('"', "")) == []
    assert unsafe(await seat.get(f"/state?prefix={quote(HOSTILE)}")) == []
