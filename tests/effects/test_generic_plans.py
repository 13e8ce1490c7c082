"""Effects are reached by index, whatever the arguments turn out to be, and however many are decided."""

from __future__ import annotations

import pytest

from steadhold.effects.moving import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

TABLES = ("effects", "effect_history", "effect_facts", "journal_entries")


crowded = crowd("""
insert into steadhold.effects
    (workspace, id, revision, kind, target, request_digest, repeatable, planned_by, planned_at, expires_in_seconds,
    expires_at, execution, settlement, reconciliation, initiations, needed_for, needed_since, announce_at, due_at)
  select %(w)s, 'e' || n, 1, 'k', 't', 'sha256:' || repeat('0', 64), false, 'w', c, 60, c, 'succeeded', 'none',
    case when n %% 50 = 0 then 'needed' else 'not_needed' end, 1,
    case when n %% 50 = 0 then 'contradiction' else '' end, case when n %% 50 = 0 then c end,
    case when n %% 50 = 0 then c end, case when n %% 50 = 0 then c end
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.effect_history (workspace, effect, revision, machine, at, actor)
  select workspace, id, 1, 'execution', planned_at, 'w' from steadhold.effects where workspace = %(w)s;
insert into steadhold.effect_facts (workspace, effect, evidence_id, digest, answer)
  select workspace, id, 'e', '', '' from steadhold.effects where workspace = %(w)s;
insert into steadhold.journal_entries (workspace, journal, id, amount, currency, actor, at)
  select workspace, 'j', id, '1', 'EUR', 'w', planned_at from steadhold.effects where workspace = %(w)s
""")


@pytest.mark.parametrize(
    "name", ["plan", "hold", "look", "move", "taken", "passing", "waiting", "history", "entered", "entries"]
)
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [table for table in TABLES if WHOLE & found.get(table, set())] == []


@pytest.mark.parametrize("name", ["hold", "look", "move"])
def test_an_id_is_found_by_its_key(crowded, name):
    assert walks(crowded, getattr(SQL, name))["effects"] == {"effects_pkey"}


@pytest.mark.parametrize(("name", "index"), [("passing", "effects_due"), ("waiting", "effects_needed")])
def test_what_is_due_or_needed_is_found_without_the_rest(crowded, name, index):
    assert walks(crowded, getattr(SQL, name))["effects"] == {index}
