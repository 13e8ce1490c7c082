"""Doors against a plain dict: whatever is sent, rotated and deleted in whatever order, as the clock goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import inboxes
from steadhold.access.model import Actor
from steadhold.inboxes import doors
from steadhold.inboxes.door_model import CameIn, IdMissing, Knock
from steadhold.inboxes.schemes import Refused
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing
from steadhold.kit.seal import Sealing
from tests import chance
from tests.inboxes.conftest import EVERYTHING
from tests.inboxes.test_schemes import signed

SEALING = Sealing([b"k" * 32])
BY = Actor("anna", None)
SECRETS = [b"secret number %d of sixteen" % n for n in range(3)]
GRACE = 100.0
IDS = st.sampled_from(["d1", "d2", "d3", ""])


@dataclass
class Known:
    """A door as a person would keep it: which secrets prove, and until when."""

    id: str
    secret: bytes
    old: tuple[bytes, float] | None = None

    def proves(self, secret, now):
        return secret == self.secret or (self.old is not None and secret == self.old[0] and now < self.old[1])


@dataclass
class Town:
    """Doors that there are, and what came in."""

    doors: list[Known] = field(default_factory=list)
    gone: list[Known] = field(default_factory=list)
    came: list[tuple[str, str, bytes]] = field(default_factory=list)


class Doors(RuleBasedStateMachine):
    """Two doors of one inbox; nothing else writes to it."""

    database = clock = None

    @initialize()
    def begin(self):
        self.now = 0.0
        self.workspace = self.database.new_workspace()
        self.conn = self.database.enter(self.workspace)
        self.town = Town()
        self.play(inboxes.put, "a", EVERYTHING, None)
        for _ in range(2):
            door = Known(new_id(), SECRETS[0])
            hash = door.id.encode()[:32]
            self.play(doors.make_door, "a", door.id, "github", None, hash, self.sealed(door, SECRETS[0]), by=BY)
            self.town.doors.append(door)

    def play(self, verb, *args, **kw):
        with self.conn.transaction():
            return verb(self.conn, self.workspace, *args, **kw)

    def sealed(self, door, secret):
        return SEALING.seal(secret, doors.of_door(self.workspace, door.id))

    @rule(at=st.integers(0, 1), id=IDS, body=st.sampled_from([b"1", b"2"]), secret=st.sampled_from(SECRETS))
    def send(self, at, id, body, secret):
        known = [*self.town.doors, *self.town.gone]
        door = known[at]
        knock = Knock({**signed("github", body, secret), "x-github-delivery": id}, body)
        outcome = self.play(doors.come_in, door.id, knock, SEALING)
        before = [kept for of, name, kept in self.town.came if (of, name) == (door.id, id)]
        if door in self.town.gone:
            assert outcome == Missing()
        elif not door.proves(secret, self.now):
            assert isinstance(outcome, Refused)
        elif not id:
            assert isinstance(outcome, IdMissing)
        else:
            assert isinstance(outcome, CameIn)
            assert (outcome.duplicate, outcome.differs) == (bool(before), before not in ([], [body]))
            if not before:
                self.town.came.append((door.id, id, body))

    @rule(at=st.integers(0, 1), secret=st.sampled_from(SECRETS), grace=st.sampled_from([0.0, GRACE]))
    def rotate(self, at, secret, grace):
        door = [*self.town.doors, *self.town.gone][at]
        outcome = self.play(doors.rotate_door, "a", door.id, self.sealed(door, secret), ("github",), grace, by=BY)
        if door in self.town.gone:
            assert outcome == Missing()
            return
        door.old = (door.secret, self.now + grace) if grace else None
        door.secret = secret

    @rule(seconds=st.sampled_from([GRACE / 2, GRACE + 1]))
    def pass_time(self, seconds):
        self.clock.move(seconds)
        self.now += seconds

    @rule()
    def delete(self):
        if len(self.town.doors) < 2:
            return
        door = self.town.doors.pop()
        found = self.play(doors.get_door, "a", door.id)
        assert self.play(doors.delete_door, "a", door.id, found.revision, by=BY) == found
        self.town.gone.append(door)

    @invariant()
    def what_came_in_is_there(self):
        page = self.play(inboxes.read, "a")
        assert [(event.envelope.causation_id, event.body) for event in page.events] == [
            (id, body) for _, id, body in self.town.came
        ]
        assert [door.id for door in self.play(doors.doors, "a", "0" * 8 + "-0000" * 3 + "-" + "0" * 12, 9)] == [
            door.id for door in self.town.doors
        ]

    def teardown(self):
        if hasattr(self, "conn"):
            self.conn.close()


def test_doors_do_what_a_person_would_expect(database, clock):
    bound = type("Bound", (Doors,), {"database": database, "clock": clock})
    run_state_machine_as_test(
        bound, settings=settings(max_examples=chance.of(15), stateful_step_count=20, deadline=None)
    )
    assert bound.database is database
