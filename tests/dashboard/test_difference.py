"""How two texts differ: every change is told, at its line, whatever both begin and end with."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from steadhold.dashboard.difference import CONTEXT_LINES, Compared, compare
from steadhold.dashboard.facts import payload

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


def compared(old, new):
    before, after = (payload("\n".join(lines).encode(), "text/plain", readable=True) for lines in (old, new))
    return asyncio.run(compare(before, after))


def groups(found):
    """The changes with what surrounds them: (line that they begin at, their lines)."""
    made = []
    for kind, text in found.lines:
        if kind == "where":
            made.append((int(text.removeprefix("line ")) - 1, []))
        else:
            made[-1][1].append((kind, text))
    return made


@given(old=LINES, new=LINES, head=LINES, tail=LINES)
def test_what_is_told_turns_the_old_text_into_the_new_one(old, new, head, tail):
    old, new = ("\n".join(head + lines + tail).split("\n") for lines in (old, new))
    found = compared(old, new)
    if old == new:
        assert found == Compared("same")
        return
    done, at = [], 0  # the new text as it is told, and how far the old one is read
    for begin, lines in groups(found):
        alike = begin - len(done)
        done, at = done + old[at : at + alike], at + alike
        for kind, text in lines:
            if kind != "add":
                assert old[at] == text
                at += 1
            if kind != "remove":
                done.append(text)
    assert done + old[at:] == new


def test_what_surrounds_a_change_is_told_with_it_and_no_more():
    old = [str(n) for n in range(100)]
    new = [*old[:50], "changed", *old[51:]]
    ((begin, lines),) = groups(compared(old, new))
    assert begin == 50 - CONTEXT_LINES
    assert [kind for kind, _ in lines] == ["same"] * 3 + ["remove", "add"] + ["same"] * 3


def test_what_would_mislead_is_written_out():
    found = compared(["a"], ["a\u202eb"])
    assert ("add", "a\\u202eb") in found.lines
