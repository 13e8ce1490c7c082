"""Every request that a page shows is sent, in the order of the page, and is answered."""

from __future__ import annotations

import re

import httpx2
import pytest

from steadhold.kit.ids import new_id
from steadhold.sdk import Client
from tests.docs.blocks import of
from tests.docs.given import REFUSED, SENT, WRITTEN

LINE = re.compile(r"^(GET|PUT|POST|PATCH|DELETE) (/\S+)(?: HTTP/1\.1)?$", re.MULTILINE)
FIELD = re.compile(r"([\w-]+): (.+)\n")
AN_ID = re.compile(r"\b019[0-9a-f]{5}-(?:…|[0-9a-f-]{27})")
PAGES = sorted({block.page for block in of("http")})


def requests(text):
    """Method, target, fields and body of each request of a block."""
    for left_out, written in WRITTEN.items():
        text = text.replace(left_out, written)
    lines = list(LINE.finditer(text))
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        rest = text[line.end() + 1 : following.start() if following else None]
        fields = {}
        while field := FIELD.match(rest):
            fields[field[1]] = field[2]
            rest = rest[field.end() :]
        yield line[1], line[2], fields, rest.removeprefix("\n").removesuffix("\n" if following else "").encode()


def headed(fields, key):
    """The fields of a request: an operation id of our own time, and a key that is one."""
    told = {"Content-Type": "application/json"} | {name: AN_ID.sub(new_id(), value) for name, value in fields.items()}
    return told | {"Authorization": f"Bearer {key}"}


def test_a_block_is_read_as_its_requests():
    told = list(requests('POST /v1/a HTTP/1.1\nIf-Match: "1"\n\n{"a": 1}\n\nGET /v1/b\nGET /v1/c\n'))
    assert told == [
        ("POST", "/v1/a", {"If-Match": '"1"'}, b'{"a": 1}\n'),
        ("GET", "/v1/b", {}, b""),
        ("GET", "/v1/c", {}, b""),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_the_requests_of_a_page_are_answered(page, site, key):
    known = ""
    with Client(site.url, key.key) as client, httpx2.Client(base_url=site.url, timeout=30) as http:
        names = {"client": client, "operator": site.operator_key, "api_key": key.key, "speaks": key.key}
        for block in (block for block in of("http") if block.page == page):
            exec(SENT.get(block.place, ""), names)
            sent = list(requests(block.text))
            assert sent, block.name
            for method, target, fields, body in sent:
                headers = headed(fields, names["speaks"])
                got = http.request(method, AN_ID.sub(known, target), headers=headers, content=body)
                told = got.json()
                code = told["code"] if got.status_code >= 400 else None
                assert code == REFUSED.get(block.place), (block.name, got.text)
                known = told.get("job_id") or told.get("approval_id") or known


def test_what_is_given_is_given_to_a_block():
    assert SENT.keys() | REFUSED.keys() <= {block.place for block in of("http")}
    assert all(any(left_out in block.text for block in of("http")) for left_out in WRITTEN)
