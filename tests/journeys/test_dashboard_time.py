"""A person before schedules, locks and inboxes: each page's main action, with scripts and without."""

from __future__ import annotations


def sure(person):
    """The button of the form that a summary opened."""
    person.page.locator("form.card button").locator("visible=true").first.click()


def test_a_schedule_is_looked_at_run_and_paused(person):
    with person.site.client() as client:
        client.schedules.put("nightly", "report", {"of": "sales"}, cron="30 2 * * *", time_zone="Europe/Berlin")
        person.log_in(to="/ui/schedules")
        assert person.looks_well("schedules")
        person.page.get_by_role("link", name="nightly").click()
        person.reads("30 2 * * * in Europe/Berlin")
        person.press("Run now")
        person.reads("It runs: the newest of the runs below.")
        assert person.looks_well("schedules-one")
        person.press("Pause")
        person.reads("Paused: no instant runs.")
        person.press("Resume")
        person.reads("Its instants run again.")
        person.press("Backfill…")
        person.fill("From (UTC)", "2026-03-28T00:00")
        person.fill("Before (UTC)", "2026-03-31T00:00")
        sure(person)
        person.reads("Those instants run, each once.")
        assert person.looks_well("schedules-runs")
        assert {run.kind for run in client.schedules.runs("nightly")} == {"manual", "backfill"}


def test_a_grant_that_nobody_gives_back_is_ended(person):
    with person.site.client() as client:
        client.locks.acquire("deploy:site", ttl=3600, owner="anna")
        person.log_in(to="/ui/locks")
        assert person.looks_well("locks")
        person.page.get_by_role("link", name="deploy:site").click()
        person.page.get_by_role("heading", name="deploy:site").wait_for()
        person.press("End the grant…")
        assert person.looks_well("locks-one")
        sure(person)
        person.reads("The grant was ended.")
        assert client.locks.get("deploy:site").held is False


def test_an_inbox_tells_its_events_and_how_far_each_consumer_is(person):
    with person.site.client() as client:
        orders = client.inboxes["orders"]
        orders.create()
        for n in range(3):
            orders.append("order.placed", {"order": n, "total": "12.50"})
        orders.consumer("billing").create()
    person.log_in(to="/ui/inboxes")
    assert person.looks_well("inboxes")
    person.page.get_by_role("link", name="orders").click()
    person.reads("order.placed")
    person.page.locator("details.stage summary").first.click()
    person.reads('"12.50"')
    assert person.looks_well("inboxes-one")
    person.press("Delete…")
    sure(person)
    person.reads("Nobody consumes it under a name.")
