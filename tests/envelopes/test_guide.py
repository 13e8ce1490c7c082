"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from steadhold.envelopes import Keyring
from steadhold.kit.sealed import Bound, header_of
from steadhold.private.doors import PROBLEMS
from steadhold.sdk import Client
from tests.sdk.site import key, site  # noqa: F401 - fixtures

pytestmark = pytest.mark.docs

GUIDE = files("steadhold.envelopes").joinpath("guide.md").read_text(encoding="utf-8")


def test_the_programs_run_together(site, key, tmp_path, monkeypatch):  # noqa: F811 - fixtures
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    names = {}
    for program in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(program, names)
    assert Keyring.load("keys.json").primary == names["keyring"].primary
    with Client(site.url, key.key) as client:
        assert [one.name for one in client.state.names()] == ["notebook/plan"]
        assert [one.path for one in client.context.files()] == ["notebook/day-1.md"]
    assert (tmp_path / "seen").read_bytes().count(b"notebook/plan") == 1


def test_every_code_and_member_is_told():
    members = {*header_of("k", Bound(workspace="w", kind="state", name="n", content_type="t", revision=1))}
    assert all(f"`{word}`" in GUIDE for word in (*PROBLEMS, "plaintext_present", "rewrap_needed", *members))
    assert all(word in GUIDE for word in Bound.__struct_fields__)
