"""Keys against a plain dict: whatever is made, rotated, revoked or aged, the same secrets open the same doors."""

from __future__ import annotations

from dataclasses import dataclass, field

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import access
from steadhold.access import plans
from steadhold.access.model import Actor, Exceeds, KeyEnded, Made
from steadhold.access.token import opens
from tests import chance
from tests.access.people import a_token

SCOPES = st.sampled_from([("*:*",), ("state:*", "keys:*"), ("state:read:a",), ()])
FIRST = {"env": "live", "subject": "s", "kind": "person", "scopes": ("*:*",)}
SPANS = st.sampled_from([None, 50.0, 500.0])


@dataclass
class Kept:
    """What the dict knows of a key: times are seconds since the machine began."""

    scopes: tuple[str, ...]
    ends: float
    revoked: bool = False
    secrets: dict[bytes, float] = field(default_factory=dict)

    def alive(self, now):
        return not self.revoked and now < self.ends


def covers(held, wanted):
    wide = {"*:*": 3, "state:*": 2, "keys:*": 2, "state:read:a": 1}
    rank = max((wide[s] for s in held), default=0)
    return all(wide[s] < rank or s in held for s in wanted)


def machine(conn: psycopg.Connection, new_workspace, clock):  # noqa: C901 - its rules, one function each
    class Keys(RuleBasedStateMachine):
        """The clock moves in whole tens of seconds; what takes milliseconds stays far from every bound."""

        made = Bundle("made")

        @initialize(target=made)
        def begin(self):
            self.workspace, self.now = new_workspace(), 5.0
            conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
            token = a_token()
            access.import_key(conn, self.workspace, token.key_id, token.hash, **FIRST)
            self.keys = {token.key_id: Kept(("*:*",), float("inf"), secrets={token.hash: float("inf")})}
            return token.key_id

        @rule(target=made, by=made, scopes=SCOPES, seconds=SPANS)
        def make(self, by, scopes, seconds):
            maker, token = self.keys.get(by), a_token()
            wanted = {"subject": "s", "kind": "service", "scopes": scopes, "expires_in_seconds": seconds}
            came = access.make_key(conn, self.workspace, token.key_id, token.hash, **wanted, by=Actor("s", by))
            if maker is None or not maker.alive(self.now):
                assert came == KeyEnded(by)
            elif not covers(maker.scopes, scopes):
                assert isinstance(came, Exceeds)
            elif seconds is not None and self.now + seconds >= maker.ends:  # some milliseconds of it have passed
                assert came == Exceeds("expiry")
            else:
                assert isinstance(came, Made)
                ends = min(maker.ends, self.now + (float("inf") if seconds is None else seconds))
                self.keys[token.key_id] = Kept(scopes, ends, secrets={token.hash: float("inf")})
            return token.key_id

        @rule(key_id=made, grace=st.sampled_from([0.0, 100.0]))
        def rotate(self, key_id, grace):
            if (kept := self.keys.get(key_id)) is None:
                return
            fresh = a_token().hash
            came = access.rotate_key(conn, self.workspace, key_id, fresh, grace_seconds=grace, by=Actor("s", key_id))
            assert isinstance(came, Made) if kept.alive(self.now) else came == KeyEnded(key_id)
            if isinstance(came, Made):
                (current,) = (hashed for hashed, until in kept.secrets.items() if until == float("inf"))
                kept.secrets = {fresh: float("inf")} | ({current: self.now + grace} if grace else {})

        @rule(key_id=made)
        def revoke(self, key_id):
            if kept := self.keys.get(key_id):
                access.revoke_key(conn, self.workspace, key_id, by=Actor("s", key_id))
                kept.revoked = kept.revoked or kept.alive(self.now)

        @rule(seconds=st.sampled_from([10.0, 60.0, 110.0]))
        def wait(self, seconds):
            clock.move(seconds)
            self.now += seconds

        @rule()
        def sweep(self):
            plans.end_keys(conn, self.workspace, 100)

        @invariant()
        def the_same_secrets_open(self):
            for key_id, kept in getattr(self, "keys", {}).items():
                found = plans.find_key(conn, self.workspace, key_id)
                assert found.alive == kept.alive(self.now)
                for hashed, until in kept.secrets.items():
                    current, old = opens(hashed, found.hash, found.old_hash or b"")
                    serves = found.alive and (current or (old and found.old_ends_in is not None))
                    assert serves == (kept.alive(self.now) and self.now < until)

    return Keys


def test_keys_behave_like_a_dict(conn, database, clock):
    """The plans let in whom a plain dict of keys, secrets and ends would."""
    run_state_machine_as_test(
        machine(conn, database.new_workspace, clock), settings=settings(max_examples=chance.of(40), deadline=None)
    )
