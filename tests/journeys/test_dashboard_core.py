"""The dashboard's own pages, walked by a person: login, overview, operations, keys, audit, workspace."""

from __future__ import annotations

from steadhold.kit.ids import new_id

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "\"'>{{7*7}}",
)


def test_a_key_opens_the_door_and_a_wrong_one_does_not(person):
    person.may_see(401)
    person.go("/audit")
    assert person.looks_well("login")
    person.fill("Key", "sh_no_key")
    person.press("Log in")
    person.reads("This key is not known here")
    assert person.looks_well("login-wrong")
    person.fill("Key", person.site.key())
    person.press("Log in")
    person.reads("session.began")
    assert person.page.url.endswith("/ui/audit")
    person.press("Log out")
    person.page.get_by_label("Key", exact=True).wait_for()
    person.go("/audit")
    assert "/ui/login" in person.page.url
    assert person.unharmed()


def test_the_overview_shows_what_happens_while_it_is_looked_at(scripted):
    scripted.log_in()
    scripted.reads("No job waits to be claimed.")
    with scripted.site.client() as client:
        client.jobs.submit("report", {})
    scripted.page.locator("main table").get_by_text("report").wait_for()
    assert scripted.looks_well("overview")


def test_the_overview_is_read_without_scripts(person):
    with person.site.client() as client:
        client.jobs.submit("report", {})
    person.log_in()
    person.page.locator("main table").get_by_text("report").wait_for()
    assert person.looks_well()


def test_a_live_part_ends_with_its_key(scripted):
    key = scripted.site.key()
    scripted.log_in(key)
    scripted.reads("No job waits to be claimed.")
    scripted.may_see(401)
    with scripted.site.client() as client:
        client.keys.revoke(key.split("_")[2])
    scripted.page.get_by_label("Key", exact=True).wait_for()
    assert "/ui/login" in scripted.page.url
    assert scripted.unharmed()


def test_an_operation_is_looked_up_and_abandoned(person):
    key = new_id()
    person.log_in()
    person.page.get_by_label("Find an operation by its id").fill(key)
    person.page.keyboard.press("Enter")
    person.reads("has committed under this id")
    assert person.looks_well("operation-unknown")
    person.press("Abandon…")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("It was abandoned before it took effect")
    assert person.looks_well("operation-abandoned")
    person.go("/operations")
    person.page.get_by_role("link", name=key).wait_for()
    assert person.looks_well("operations")


def test_a_key_is_made_shown_once_and_revoked(person):
    person.log_in(to="/ui/keys")
    person.press("New key")
    person.fill("Subject", "importer")
    person.page.get_by_role("group", name="jobs").get_by_label("read").check()
    assert person.looks_well("keys-new")
    person.press("Make the key")
    person.reads("This is shown once.")
    assert person.page.get_by_label("Key", exact=True).input_value().startswith("sh_")
    assert person.looks_well("keys-made")
    person.page.locator("a.id").first.click()
    person.page.get_by_role("heading", name="Key of importer").wait_for()
    assert person.looks_well("keys-one")
    person.press("Rotate…")
    assert person.looks_well("keys-rotate")
    person.page.get_by_label("The old secret serves for").select_option("an hour")
    person.press("Rotate and show")
    person.reads("This is shown once.")
    person.page.locator("a.id").first.click()
    person.press("Revoke…")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("The key was revoked")
    person.go("/keys")
    assert person.looks_well("keys")


def test_what_was_done_stands_in_the_audit(person):
    person.log_in(to="/ui/operations/some")
    person.press("Abandon…")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("It was abandoned")
    person.go("/audit")
    person.page.get_by_role("link", name="dashboard.operations.abandon").click()
    person.page.get_by_label("Kind", exact=True).wait_for()
    assert "kind=dashboard.operations.abandon" in person.page.url
    assert person.looks_well("audit")
    person.fill("Kind", "nothing")
    person.press("Filter")
    person.reads("Nothing matches.")
    assert person.looks_well("audit-empty")


def test_the_workspace_in_brief(person):
    person.log_in(to="/ui/workspace")
    person.reads("Names in state and context")
    assert person.looks_well("workspace")


def test_what_is_out_of_scope_is_told(person):
    person.log_in(person.site.key("keys:read"), to="/ui/keys")
    person.may_see(403)
    person.go("/audit")
    person.reads("This key lacks the scope audit:read.")
    assert person.looks_well("refused")


def test_nothing_that_was_stored_runs(scripted):
    with scripted.site.client() as client:
        for n, text in enumerate(HOSTILE):
            client.state.create(f"a{text}", 1, operation_id=f"op-{n}")
    scripted.log_in()
    scripted.may_see(400)
    for path in ("/operations", "/audit", *(f"/operations/op-{n}" for n in range(len(HOSTILE)))):
        scripted.go(path)
        assert scripted.looks_well()
    for text in HOSTILE:
        scripted.page.goto(f"{scripted.site.url}/ui/audit?kind={text}")
        assert scripted.looks_well()
    assert (
        scripted.page.evaluate("document.querySelectorAll('main img, main svg:not(.chart), main script').length") == 0
    )


def test_a_page_of_another_site_can_send_no_form(scripted, people):
    """A stranger's page posts to the dashboard of somebody who is logged in: the cookie stays at home."""
    scripted.log_in(to="/ui/keys")
    site, page = scripted.site, scripted.page
    scripted.may_see(401)
    stranger = site.url.replace("127.0.0.1", "localhost")
    page.route(f"{stranger}/**", lambda route: route.fulfill(content_type="text/html", body=(
        f"<form method=post action='{site.url}/ui/keys:new'><input name=subject value=evil></form>"
        "<button onclick='document.forms[0].submit()'>Win a prize</button>"
    )))  # fmt: skip
    page.goto(f"{stranger}/prize")
    page.get_by_role("button", name="Win a prize").click()
    page.get_by_role("heading", name="The session has ended").wait_for()
    with site.client() as client:
        assert "evil" not in [key.subject for key in client.keys.list()]


def test_a_link_of_another_site_finds_the_session(scripted):
    scripted.log_in(to="/ui/keys")
    site, page = scripted.site, scripted.page
    stranger = site.url.replace("127.0.0.1", "localhost")
    page.route(f"{stranger}/**", lambda route: route.fulfill(
        content_type="text/html", body=f"<a href='{site.url}/ui/workspace'>Look</a>"
    ))  # fmt: skip
    page.goto(f"{stranger}/chat")
    page.get_by_role("link", name="Look").click()
    page.get_by_role("heading", name="Workspace").wait_for()
    assert page.url.endswith("/ui/workspace")
    assert scripted.unharmed()


def test_everything_is_reached_by_keyboard(scripted):
    scripted.log_in(to="/ui/keys")
    page = scripted.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "New key"
    width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert width != "0px"
