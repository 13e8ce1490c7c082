from __future__ import annotations

import re

from steadhold.kit import limits


def test_every_limit_is_listed_by_its_name():
    assert limits.ALL["state_bytes_max"] == limits.STATE_BYTES_MAX
    assert {name.upper() for name in limits.ALL} == {name for name in vars(limits) if name.isupper()} - {"ALL"}


EXACT = {
    "context_chunk_bytes",
    "session_fresh_seconds",
    "stream_idle_seconds",
    "upload_lease_seconds",
}
"""They bound nothing from above or below: so it is."""


def test_every_limit_is_a_positive_number_and_says_which_end_it_is():
    shape = re.compile(r"[a-z_]+_(?:max|min|default)")
    assert {name for name, value in limits.ALL.items() if not shape.fullmatch(name) or value < 1} == EXACT


def test_limits_that_depend_on_one_another_agree():
    assert limits.LEASE_SECONDS_MIN < limits.LEASE_SECONDS_MAX
    assert limits.PAGE_ITEMS_DEFAULT <= limits.PAGE_ITEMS_MAX
    assert limits.WAIT_SECONDS_MAX < limits.REQUEST_SECONDS_MAX
    assert limits.STATE_BYTES_MAX <= limits.BODY_BYTES_MAX
    assert 8 * limits.PATH_BYTES_MAX <= limits.CURSOR_CHARS_MAX
