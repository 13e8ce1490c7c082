"""A person before webhooks: made with a secret shown once, tested against a receiver, enabled, sent again, removed."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Receiver(BaseHTTPRequestHandler):
    """Takes whatever comes, and says something in answer that must not run."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("x-hostile", "<script>alert(1)</script>")
        self.end_headers()
        self.wfile.write(b"<img src=x onerror=alert(1)>")

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def receiver():
    """Where a receiver listens on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


def what_was_closed_stays_closed(page):
    """A live part that is read again leaves alone what a person opened or closed."""
    page.locator("details.stage > summary").click()
    for _ in range(2):  # the second was asked for after the first was shown
        with page.expect_response("**/live"):
            pass
    assert page.locator("details.stage").get_attribute("open") is None


@pytest.mark.parametrize("scripts", [True, False])
def test_a_webhook_is_made_tested_enabled_and_removed(people, busy_site, receiver, scripts):
    person = people(busy_site, scripts=scripts)
    person.log_in(to="/ui/webhooks")
    person.reads("There is no webhook.")
    person.press("New webhook")
    person.fill("Address", receiver)
    person.fill("Types of events", "job.*")
    assert person.looks_well("webhook-new")
    person.press("Make the webhook")
    person.reads("This is shown once.")
    assert person.page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
    assert person.looks_well("webhook-made")
    person.press("Go to the webhook")
    person.reads("never enabled")
    person.press("Send a test")
    person.reads("A test event is on its way.")
    person.page.wait_for_url("**/ui/deliveries/*")
    assert person.comes_to_read("delivered")
    assert person.looks_well("delivery")
    if scripts:
        what_was_closed_stays_closed(person.page)
    person.page.get_by_role("link", name="the webhook").click()
    person.press("Enable…")
    assert person.looks_well("webhook-enable")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("Deliveries begin.")
    assert person.looks_well("webhook")
    person.go("/webhooks")
    person.page.locator("main table").get_by_text("enabled").wait_for()
    assert person.looks_well("webhooks")
    person.page.get_by_role("link", name=receiver).click()
    person.press("Rotate…")
    person.press("Rotate and show")
    person.reads("This is shown once.")
    person.press("Go to the webhook")
    person.press("Delete…")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("The webhook was removed.")
    assert person.looks_well()
