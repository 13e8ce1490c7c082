"""Commits that cross, from many clients at once, at a real server: money is moved, none is made, nobody deadlocks."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from click.testing import CliRunner

from steadhold import Client
from steadhold.cli.program import program
from steadhold.sdk.errors import RevisionConflict
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys

ACCOUNTS, MOVERS, MOVES, START = 6, 8, 25, 100


class Bank:
    """Accounts in state, a ledger as jobs; each move is one commit of three changes under one condition."""

    def __init__(self, url, api_key):
        self.url, self.api_key = url, api_key

    def open(self):
        with Client(self.url, self.api_key) as client:
            for n in range(ACCOUNTS):
                client.state.create(f"account/{n}", START)
            client.state.create("open", value=True)

    def moves(self, seed):
        """Move money along until so many moves were made; how many were refused on the way."""
        chance, refused = random.Random(seed), 0
        with Client(self.url, self.api_key) as client:
            for _ in range(MOVES):
                while not self.move(client, *chance.sample(range(ACCOUNTS), 3), chance.randrange(1, 9)):
                    refused += 1
        return refused

    def move(self, client, one, two, watched, amount):
        """From one to two, if a third has not moved meanwhile: what one commit writes another relies on."""
        a, b, c = (client.state.get(f"account/{n}") for n in (one, two, watched))
        try:
            with client.commit() as commit:
                commit.require.state.get(f"account/{watched}", if_revision=c.revision)
                commit.require.state.get("open", if_revision=1)
                commit.require.state.get("halt", absent=True)
                commit.apply.state.put(f"account/{one}", a.value - amount, if_revision=a.revision)
                commit.apply.state.put(f"account/{two}", b.value + amount, if_revision=b.revision)
                commit.apply.jobs.submit("move", {"from": one, "to": two, "amount": amount})
        except RevisionConflict:
            return False
        return True


@pytest.mark.parametrize("player", ["lockstep", "single"])
def test_commits_that_cross(house, key, player):  # noqa: F811
    with server(house.dsn, player=player, background=False) as running:
        bank = Bank(running.url, key)
        bank.open()
        with ThreadPoolExecutor(MOVERS) as pool:
            refused = sum(pool.map(bank.moves, range(MOVERS)))
        with Client(running.url, key) as client:
            balances = {n: client.state.get(f"account/{n}").value for n in range(ACCOUNTS)}
            moved = [client.jobs.input(job.job_id).value for job in client.jobs.list(type="move")]
    assert refused > 0, "nobody crossed anybody"
    assert len(moved) == MOVERS * MOVES
    assert sum(balances.values()) == START * ACCOUNTS
    for n, balance in balances.items():
        into, out = (sum(m["amount"] for m in moved if m[way] == n) for way in ("to", "from"))
        assert balance == START + into - out
    with house.connect() as conn:
        (deadlocks,) = conn.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        ).fetchone()
    assert deadlocks == 0


def test_the_command(house, key, tmp_path, monkeypatch):  # noqa: F811
    """A file of changes by the command line: all of it, and then, since a condition is false, nothing of it."""
    file = tmp_path / "commit.json"
    file.write_text(
        '{"require": [{"op": "state.get", "name": "halt", "if_none_match": "*"}],'
        ' "apply": [{"op": "state.put", "name": "a", "value": 1.10, "if_none_match": "*"},'
        ' {"op": "jobs.submit", "type": "t"}]}'
    )
    with server(house.dsn, background=False) as running:
        monkeypatch.setenv("STEADHOLD_URL", running.url)
        monkeypatch.setenv("STEADHOLD_API_KEY", key)
        done = CliRunner().invoke(program, ["commit", str(file)])
        assert done.exit_code == 0, done.stderr
        assert [msgspec.json.decode(line)["status"] for line in done.stdout.splitlines()] == [200, 201, 202]
        refused = CliRunner().invoke(program, ["commit", str(file)])
        assert (refused.exit_code, "list=apply, index=0" in refused.stderr) == (3, True), refused.stderr
        with Client(running.url, key) as client:
            assert client.state.get("a").raw == b"1.10"
            assert len(list(client.jobs.list(type="t"))) == 1
