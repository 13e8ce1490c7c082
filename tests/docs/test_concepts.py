"""docs/concepts.md answers every sentence of the two documents, and each stands in laws.toml with what holds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.laws import read

PAGE = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([AB]\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = {sentence: (meaning, re.findall(r"`([\w.-]+)`", held)) for sentence, meaning, held in ROW.findall(PAGE)}
SENTENCES = [f"A{n}" for n in range(1, 52)] + [f"B{n}" for n in range(1, 30)]
LAWS = {law.id: law for law in read()}


def test_every_sentence_is_answered_once():
    told = [sentence for sentence, _, _ in ROW.findall(PAGE)]
    assert sorted(told) == sorted(SENTENCES)
    assert PAGE.count("\n| A") + PAGE.count("\n| B") == len(SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_held_by_laws_that_name_it(sentence):
    meaning, named = ROWS[sentence]
    assert meaning.strip()
    assert named
    assert sorted(named) == sorted(law.id for law in LAWS.values() if sentence in law.seeds)


def test_no_law_names_a_sentence_that_is_not_there():
    assert {sentence for law in LAWS.values() for sentence in law.seeds} <= set(SENTENCES)
