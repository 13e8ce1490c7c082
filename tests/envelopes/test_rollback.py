"""What was seen is kept, and a lower revision is found out."""

from __future__ import annotations

import errno
import resource
import threading

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


def test_who_answers_late_is_no_liar(tmp_path):
    """Another thread has seen a newer revision since this one was asked for; what was seen stays the highest."""
    water = HighWater(tmp_path / "seen")
    asked = water.seen("w", "state", "a")
    water.saw("w", "state", "a", 6)
    water.saw("w", "state", "a", 5, asked)
    assert water.seen("w", "state", "a") == 6
    with pytest.raises(RolledBack, match="revision 6 was seen"):
        water.saw("w", "state", "a", 5, water.seen("w", "state", "a"))
    assert HighWater(tmp_path / "seen").seen("w", "state", "a") == 6


def test_half_a_line_is_taken_back(tmp_path):
    """A disk that is full for a moment leaves a file that can be read ever after."""
    place = tmp_path / "seen"
    water = HighWater(place)
    water.saw("w", "state", "a", 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.stat().st_size + 5, hard))
    try:
        with pytest.raises(OSError, match=r"large|space") as told:
            water.saw("w", "state", "b", 7)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.value.errno in {errno.ENOSPC, errno.EFBIG}
    assert water.seen("w", "state", "b") == 0
    water.saw("w", "state", "c", 1)
    again = HighWater(place)
    assert [again.seen("w", "state", name) for name in "abc"] == [3, 0, 1]


@pytest.mark.parametrize("line", [b"", b"[", b"\0\0\0", b'["w",true]', b'["w","1"]', b"\xff", b'["w",1,2]'])
def test_a_line_that_is_damaged_is_told_by_its_number(tmp_path, line):
    place = tmp_path / "seen"
    HighWater(place).saw("w", "state", "a", 3)
    HighWater(place).saw("w", "state", "b\nc", 3)
    first, last = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(first + line + b"\n" + last)
    with pytest.raises(ValueError, match=r"Line 2 of .* is damaged"):
        HighWater(place)


def test_threads_share_it(tmp_path):
    place = tmp_path / "seen"
    water = HighWater(place)

    def see(start):
        for revision in range(start, 60, 4):
            water.saw("w", "state", f"a\n{revision % 3}", revision, 0)

    threads = [threading.Thread(target=see, args=(start,)) for start in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = HighWater(place)
    assert [again.seen("w", "state", f"a\n{n}") for n in range(3)] == [57, 58, 59]
