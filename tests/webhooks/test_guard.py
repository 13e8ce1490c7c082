"""The guard: what a URL may be, and what the operator may allow."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from steadhold.kit.seal import Sealing, Unsealable
from steadhold.webhooks import guard, heading, sign
from steadhold.webhooks.model import Secret

USUAL = guard.read_rules(())


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a?b=c",
        "https://example.com",
        "https://example.com:443/",
        "https://1.1.1.1/",
        "https://[2606:4700:4700::1111]/x",
        "https://xn--bcher-kva.example/",
    ],
)
def test_usual_urls(url):
    assert guard.url_fault(url, USUAL) is None


@pytest.mark.parametrize(
    "url",
    [
        "", "example.com", "ftp://example.com", "file:///etc/passwd", "http://example.com", "https://example.com:8443",
        "https://", "https:///x", "https://user@example.com", "https://user:word@example.com", "https://:@example.com",
        "https://example.com/#x", "https://example.com/#", "https://example.com:0/", "https://example.com:99999/",
        "https://example.com:x/", "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.1/",
        "https://0177.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[fe80::1%25eth0]/",
        "https://exa mple.com/", "https://example.com/\r\nx: y", "https://exämple.com/", "https://example.com\\@1.1.1.1/",
        "https://%31%32%37.0.0.1/", "https://" + "a" * 2_000 + ".com/", "https://][::1]/", "https://a[::1]/", "https://[v1.a]/",
        "https://example.com(", "https://a&b/", "https://a,b/", "https://a..b/", "https://.a/",
        "https://" + "a" * 64 + ".b/",
        "https://" + "a." * 127 + "b/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/",
        "https://[::127.0.0.1]/", "https://[fd00:ec2::254]/", "https://169.254.169.254/", "https://0/", "https://0x0/",
        "https://017700000001/", "https://127.0.0.1./", "https://1.2.3.0x1/",
    ],
)  # fmt: skip
def test_urls_that_are_refused(url):
    assert guard.url_fault(url, USUAL)


def test_the_operator_lets_loopback_in_over_http():
    rules = guard.read_rules(("http://127.0.0.0/8:*", "http://[::1]:*"))
    assert guard.url_fault("http://127.0.0.1:5000/hook", rules) is None
    assert guard.url_fault("http://localhost:5000/hook", rules) is None
    assert guard.url_fault("http://app.localhost/hook", rules) is None
    assert guard.refused("http", 5000, ["127.0.0.1", "::1"], rules) is None
    assert guard.refused("http", 5000, ["1.1.1.1"], rules) == "1.1.1.1"
    assert guard.refused("https", 443, ["127.0.0.1"], rules) == "127.0.0.1"


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com", "notlocalhost", "1.1.1.1", "0x7f.1"])
def test_where_only_this_machine_is_let_in_over_http_no_other_name_is(host):
    """As under `steadhold dev`: nothing that could never be sent is made."""
    rules = guard.read_rules(("http://127.0.0.0/8:*", "http://[::1]:*"))
    assert guard.url_fault(f"http://{host}:8799/x", rules)
    assert guard.url_fault("https://example.com/x", rules) is None
    assert guard.url_fault("http://example.com/x", guard.read_rules(("http://127.0.0.0/8", "http://*"))) is None


def test_the_operator_lets_a_port_in():
    rules = guard.read_rules(("https://*:8443",))
    assert guard.url_fault("https://example.com:8443/", rules) is None
    assert guard.refused("https", 8443, ["10.0.0.1"], rules) == "10.0.0.1"
    assert guard.url_fault("http://example.com:8443/", rules)


def test_a_host_without_an_address_is_not_dialled():
    assert guard.refused("https", 443, [], USUAL) == "nothing"


@pytest.mark.parametrize(
    "entry", ["*", "https://", "https://example.com", "http://127.0.0.0/33:*", "ftp://*", "https://*:x"]
)
def test_an_entry_that_is_none(entry):
    with pytest.raises(guard.EntryFault):
        guard.read_rules((entry,))


@pytest.mark.parametrize(
    "name",
    [
        "Host", "host", "Content-Type", "content_length", "Webhook-Id", "webhook_signature", "X-Steadhold-Attempt",
        "x_steadhold_delivery_id", "Transfer-Encoding", "transfer_encoding", "a b", "a:b", "x\r\ny", "",
    ],
)  # fmt: skip
def test_fields_that_an_endpoint_cannot_have(name):
    assert heading.field_fault(name, "x")


@pytest.mark.parametrize("value", ["", " x", "x\r\nwebhook-id: 1", "x\x00", "x\n", "ä", "x" * 4_097])
def test_values_that_a_field_cannot_have(value):
    assert heading.field_fault("x-own", value) == heading.field_fault("x-own", "\x00")


def test_a_current_secret_signs_without_an_old_one_that_cannot_be_opened():
    old, new = Sealing((bytes(32),)), Sealing((bytes(range(32)),))
    of, text = heading.of_secret("w", "h"), sign.secret_text(bytes(32))
    past = Secret(1, old.seal(text.encode(), of), None, datetime(2026, 11, 30, tzinfo=UTC))
    current = Secret(2, new.seal(text.encode(), of), None, None)
    endpoint = SimpleNamespace(id="h", spec=SimpleNamespace(headers=None))
    batch = SimpleNamespace(endpoint=endpoint, secrets=(current, past))
    assert heading.opened(new, "w", batch) == ([sign.read_secret(text)], {})
    assert heading.opened(Sealing((*new.keys, *old.keys)), "w", batch) == ([sign.read_secret(text)] * 2, {})
    with pytest.raises(Unsealable):
        heading.opened(old, "w", batch)
