"""A large file comes piece by piece: of what can be read, not even a piece is kept under a private prefix."""

from __future__ import annotations

import pytest

from steadhold import context, private
from steadhold.context.incoming import Target, gather
from steadhold.context.plans import readable
from steadhold.envelopes import Bound, Keyring, seal
from steadhold.kit.ids import new_id
from steadhold.kit.plan import Call
from steadhold.play.caller import play
from steadhold.private import PlaintextRefused
from steadhold.web.ask import Pull
from tests.access.people import NOBODY

PLAIN = b"Dear diary, " * 200_000


@pytest.fixture
def send(conn, workspace):
    """Sends bytes to secret/a as they would come; answers with the outcome, and with how many pieces were kept."""

    def sent(body, content_type, size):
        kept, at = 0, 0
        target = Target(workspace, "secret/a", None, content_type, new_id(), size=size)

        def read(most):
            return (yield Pull(most))

        steps = gather(target, read, {})
        said = None
        try:
            while True:
                asked = steps.send(said)
                if isinstance(asked, Pull):
                    said, at = body[at : at + asked.most], at + asked.most
                else:
                    kept += asked.name.endswith(".keep")
                    said = play(conn, asked)
        except StopIteration as end:
            came = end.value
        return (play(conn, came) if isinstance(came, Call) else came), kept

    return sent


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/jose"])
def test_no_piece_of_what_can_be_read_is_kept(conn, workspace, send, content_type, told):
    private.make(conn, workspace, "context", "secret", readable, by=NOBODY)
    assert send(PLAIN, content_type, len(PLAIN) if told else None) == (PlaintextRefused(), 0)


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
def test_what_is_sealed_or_lies_elsewhere_is_kept(conn, workspace, send, told):
    outcome, kept = send(PLAIN, "application/jose", len(PLAIN) if told else None)
    assert isinstance(outcome, context.Written)
    context.delete(conn, workspace, "secret/a", outcome.revision)
    private.make(conn, workspace, "context", "secret", readable, by=NOBODY)
    here = Bound(
        workspace=workspace, kind="context", name="secret/a", content_type="text/plain", revision=outcome.revision + 2
    )
    envelope = seal(Keyring.generate(), here, PLAIN)
    written, more = send(envelope, "application/jose", len(envelope) if told else None)
    assert written.revision == here.revision
    assert kept > 1 < more
