"""A session: a login by key, kept in a signed cookie that holds no key.

The cookie names the key, the workspace where an operator chose one, and a random id; it is signed with what only
servers know of the key, the hash of its secret. So it is good on every server, and for no longer than the key is: a key
that is revoked, has expired or was rotated ends its sessions. The audit holds when a session began and ended, under a
digest of its id; what was not begun there, or has ended, lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from steadhold import access
from steadhold.access import sessions
from steadhold.access.authenticate import TRUSTED_SECONDS, Keyring
from steadhold.kit import ids, limits
from steadhold.web.above import Play
from steadhold.web.ask import Principal, Stop

REMEMBERED_MAX: Final = 10_000
_COOKIE: Final = re.compile(r"([0-9A-Za-z]{22})\.([a-z0-9-]{0,63})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Session:
    """Who sits before the browser, and since when. `text` is what the cookie holds; `csrf` what each form sends."""

    text: str
    who: Principal
    workspace: str
    resource: str
    csrf: str
    age_seconds: float

    @property
    def fresh(self) -> bool:
        """Whether the key was typed a short time ago."""
        return self.age_seconds < limits.SESSION_FRESH_SECONDS


@dataclass(slots=True)
class _Seen:
    began: float | None
    trusted_until: float


class Sessions:
    """Opens, finds and ends sessions, on one server of any number."""

    def __init__(self, keyring: Keyring, play: Play, *, now: Callable[[], float] = time.monotonic) -> None:
        self._keyring, self._play, self._now = keyring, play, now
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def open(self, key: str, workspace: str) -> Session | None:
        """Begin a session for whoever presents this key; None without a valid one.

        `workspace` is an operator's choice; a key of a workspace has its own. A login is counted against its rate, for
        it leaves a row in the audit: raises Stop where they come too fast.
        """
        token = access.parse_token(key.strip())
        who = None if token is None else await self._keyring.principal(key.strip())
        if token is None or who is None:
            return None
        if (limited := self._keyring.rate(who)) is not None:
            raise Stop(limited)
        chosen = workspace if who.workspace is None else ""
        known = who.workspace is not None or not chosen or await self._keyring.known(chosen)
        named = f"{token.key_id}.{chosen if known else ''}.{_text(ids.new_secret())}"
        resource = _resource(named)
        await self._play(sessions.begin.call(_home(who), resource, by=_actor(who)))
        return await self.find(f"{named}.{_sign(token.hash, named)}")

    async def find(self, text: str) -> Session | None:
        """The session that a cookie holds; None where it is none, or is over."""
        parts = _COOKIE.fullmatch(text)
        if parts is None:
            return None
        named, signature = text.rpartition(".")[0], parts[4]
        holder = await self._keyring.holder(parts[1], lambda held: hmac.compare_digest(_sign(held, named), signature))
        if holder is None:
            return None
        who, hash = holder
        resource = _resource(named)
        began = await self._began(_home(who), resource)
        if began is None:
            return None
        age = self._now() - began
        if age >= limits.SESSION_SECONDS_MAX:
            return None
        return Session(text, who, who.workspace or parts[2], resource, _sign(hash, "form." + named), age)

    async def principal(self, text: str) -> Principal | None:
        """Who sits there, for doors that are asked by a session."""
        session = await self.find(text)
        return None if session is None else session.who

    async def end(self, session: Session) -> None:
        """End a session, on every server."""
        await self._play(sessions.end.call(_home(session.who), session.resource, by=_actor(session.who)))
        self._seen.pop(session.resource, None)

    async def _began(self, workspace: str, resource: str) -> float | None:
        """When a session began, on this process's clock; what was read is trusted as long as a key is."""
        seen = self._seen.get(resource)
        if seen is None or seen.trusted_until <= self._now():
            asked_at = self._now()
            age = await self._play(sessions.age.call(workspace, resource))
            seen = _Seen(None if age is None else asked_at - age, asked_at + TRUSTED_SECONDS)
            self._seen[resource] = seen
            self._seen.move_to_end(resource)
            if len(self._seen) > REMEMBERED_MAX:
                self._seen.popitem(last=False)
        return seen.began


def _home(who: Principal) -> str:
    return who.workspace or access.HOUSE


def _actor(who: Principal) -> access.Actor:
    return access.Actor(who.subject, who.key_id)


def _sign(hash: bytes, named: str) -> str:
    return _text(hmac.digest(b"steadhold session " + hash, named.encode(), hashlib.sha256))


def _resource(named: str) -> str:
    """How the audit calls a session: a digest, by which nobody can make its cookie."""
    return "session:" + _text(hashlib.sha256(named.encode()).digest())[:22]


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
