"""A person before events: what led to what, who gets it, and what waits for somebody."""

from __future__ import annotations

from steadhold.sdk.events_shapes import NewEvent

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def told(site):
    """An inbox, and an order that was placed and, because of that, paid."""
    with site.client() as client:
        client.inboxes["mail"].create()
        placed = NewEvent(type="order.placed", event_id="placed", data={"note": HOSTILE})
        client.aggregates.append("order-1", [placed], state="placed")
        paid = NewEvent(type="order.paid", event_id="paid", data={"amount": 1}, causation_id="placed")
        client.aggregates.append("order-1", [paid], if_revision=1, state="paid")


def test_an_event_is_followed_to_its_cause_and_its_aggregate(person):
    site = person.site
    told(site)
    person.log_in(to="/ui/events")
    person.fill("Event id", "paid")
    person.press("Look it up")
    person.page.get_by_role("heading", name="order.paid").wait_for()
    assert person.looks_well("event")
    person.page.get_by_role("link", name="placed").first.click()
    person.page.get_by_role("heading", name="order.placed").wait_for()
    assert person.looks_well("event-hostile")
    person.page.get_by_role("link", name="order-1").first.click()
    person.page.get_by_role("heading", name="order-1").wait_for()
    assert person.looks_well("aggregate")
    person.go("/aggregates")
    assert person.looks_well("aggregates")


def test_a_subscription_is_made_and_deleted(person):
    told(person.site)
    person.log_in(to="/ui/events")
    person.press("New subscription")
    person.fill("Name", "to-mail")
    person.fill("Types of events", "order.*")
    person.fill("Its name", "mail")
    assert person.looks_well("subscription-new")
    person.press("Subscribe")
    person.reads("From now on these events go there.")
    assert person.looks_well("subscription")
    person.press("Publish again…")
    assert person.looks_well("subscription-replay")
    person.fill("From", "2099-01-01")
    person.fill("To", "2099-01-02")
    person.page.locator("form.card button").locator("visible=true").first.click()
    person.reads("0 events are published again.")
    assert person.looks_well()
    person.go("/events")
    assert person.looks_well("events")
    person.page.get_by_role("link", name="to-mail").click()
    person.press("Delete…")
    person.page.locator("form.card button").locator("visible=true").last.click()
    person.reads("The subscription was deleted.")


def test_what_is_parked_is_decided(person, database):
    told(person.site)
    with database.enter(person.site.workspace) as conn:
        conn.cursor().executemany(
            "insert into steadhold.publications (workspace, aggregate_id, aggregate_revision, subscription, id, target,"
            " lane, key, state, why, made_at) values (%s, 'order-1', %s, 'sub', gen_random_uuid(), 'inbox:mail', 0,"
            " 'order-1', 2, %s, steadhold.clock())",
            [(person.site.workspace, revision, HOSTILE) for revision in (1, 2, 3)],
        )
    person.log_in(to="/ui/publications")
    person.page.locator("main table").get_by_text("parked").first.wait_for()
    assert person.looks_well("publications")
    person.press("Skip…")
    assert person.looks_well("publications-skip")
    person.page.locator("form.card button").locator("visible=true").click()
    person.reads("It is never published.")
    person.press("Publish all now…")
    person.reads("All 2 that are parked are tried again")
    assert person.looks_well("publications-all")
    person.press("Publish 2 now")
    person.reads("They are published now")
    person.reads("None is parked.")
    assert person.looks_well()
