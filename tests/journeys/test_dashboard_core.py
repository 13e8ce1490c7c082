"""The dashboard's own pages, walked by a person: login, operations, keys, audit, workspace."""

from __future__ import annotations


def test_a_key_is_made_shown_once_and_revoked(person):
    person.log_in(to="/ui/keys")
    person.press("New key")
    person.fill("Subject", "importer")
    person.page.get_by_label("read").first.check()
    person.looks_well("keys-new")
    person.press("Make the key")
    person.reads("This is shown once.")
    assert person.page.get_by_label("Key", exact=True).input_value().startswith("sh_")
    person.looks_well("keys-made")
    person.page.locator("a.id").first.click()
    person.looks_well("keys-one")
    person.press("Revoke…")
    person.page.locator("form button", has_text="Revoke").locator("visible=true").click()
    person.reads("The key was revoked.")
    person.looks_well("keys-revoked")
