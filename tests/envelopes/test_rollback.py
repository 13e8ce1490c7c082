"""What was seen is kept, and a lower revision is found out."""

from __future__ import annotations

import pytest

from steadhold.envelopes import HighWater, RolledBack


def test_a_lower_revision_is_found_out_also_after_a_restart(tmp_path):
    place = tmp_path / "seen"
    water = HighWater(place)
    for revision in (3, 3, 7):
        water.saw("w", "state", "a", revision)
    with pytest.raises(RolledBack, match="revision 7 was seen"):
        water.saw("w", "state", "a", 6)
    again = HighWater(place)
    with pytest.raises(RolledBack):
        again.saw("w", "state", "a", 3)
    for other in (("v", "state", "a"), ("w", "context", "a"), ("w", "state", "b")):
        again.saw(*other, 1)
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_short_is_left_out(tmp_path):
    place = tmp_path / "seen"
    HighWater(place).saw("w", "state", "a", 3)
    place.write_bytes(place.read_bytes() + b'["w\\nstate\\nb",')
    HighWater(place).saw("w", "state", "b", 1)
    with pytest.raises(RolledBack):
        HighWater(place).saw("w", "state", "a", 2)
    with pytest.raises(RolledBack):
        HighWater(place).saw("w", "state", "b", 0)
