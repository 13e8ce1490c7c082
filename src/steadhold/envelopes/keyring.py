"""Keys by their kid. One seals; the others only open what was sealed before they were replaced."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NoReturn

import msgspec

from steadhold.kit.rules import Id

KEY_BYTES: Final = 32
KID_BYTES: Final = 8
VARIABLE: Final = "STEADHOLD_KEYRING"


class KeyringFault(ValueError):
    """What was given is no keyring. The text says why, and names no key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of 256 bits. It never shows itself, and is not pickled: `Keyring.dump` is the one way out."""

    kid: str
    secret: bytes = field(repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A key is not pickled: it would lie in whatever is. Keyring.dump gives it away on purpose.")

    def __deepcopy__(self, _memo: object) -> Key:
        return self


class _Jwk(msgspec.Struct, forbid_unknown_fields=True):
    kty: Literal["oct"]
    kid: Id
    k: str


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    primary: str
    keys: list[_Jwk]


class Keyring:
    """`primary` seals; all keys open, each only what names it by its kid: keys are never tried in turn."""

    __slots__ = ("_keys", "primary")

    def __init__(self, primary: Key, decrypt_only: tuple[Key, ...] = ()) -> None:
        self._keys: Mapping[str, Key] = {key.kid: key for key in (*decrypt_only, primary)}
        if len(self._keys) != 1 + len(decrypt_only):
            raise KeyringFault("Two keys of a keyring have one kid.")
        self.primary = primary

    def __repr__(self) -> str:
        return f"Keyring(primary={self.primary.kid!r}, decrypt_only={[key.kid for key in self.decrypt_only]!r})"

    @property
    def decrypt_only(self) -> tuple[Key, ...]:
        """The keys that only open."""
        return tuple(key for key in self._keys.values() if key is not self.primary)

    @classmethod
    def generate(cls) -> Keyring:
        """Make a keyring of one new key."""
        return cls(_new_key())

    def rotated(self) -> Keyring:
        """Make one with a new primary; the keys of this one only open.

        Have every reader open with the new key before anybody seals with it: see `with_decrypt_only`.
        """
        return Keyring(_new_key(), (*self.decrypt_only, self.primary))

    def with_decrypt_only(self, key: Key) -> Keyring:
        """Make one that opens what `key` seals, too."""
        return Keyring(self.primary, (*self.decrypt_only, key))

    def without(self, kid: str) -> Keyring:
        """Make one that does not know a key any more: nothing that it sealed can be opened."""
        if kid == self.primary.kid:
            raise KeyringFault("The primary key cannot be left out: rotate first.")
        return Keyring(self.primary, tuple(key for key in self.decrypt_only if key.kid != kid))

    def key(self, kid: str) -> Key | None:
        """The key of this kid; None where there is none."""
        return self._keys.get(kid)

    # --- kept as a JWK set (RFC 7517, section 5) with the name of the primary

    def dump(self) -> bytes:
        """The keyring as JSON, with its secrets."""
        keys = [_Jwk("oct", key.kid, _text(key.secret)) for key in (self.primary, *self.decrypt_only)]
        return msgspec.json.format(msgspec.json.encode(_Kept(self.primary.kid, keys)), indent=2) + b"\n"

    @classmethod
    def loads(cls, raw: bytes) -> Keyring:
        """Read what `dump` made.

        Raises:
            KeyringFault: it is none.
        """
        try:
            kept = msgspec.json.decode(raw, type=_Kept)
            keys = {jwk.kid: Key(jwk.kid, _secret(jwk.k)) for jwk in kept.keys}
        except ValueError:
            kept, keys = None, {}
        if kept is None:  # out of the handler: what failed there holds what was read
            raise KeyringFault('A keyring is {"primary": kid, "keys": [{"kty": "oct", "kid", "k"}…]}.')
        if len(keys) != len(kept.keys) or kept.primary not in keys:
            raise KeyringFault("A keyring names each key once, and the primary is one of them.")
        primary = keys.pop(kept.primary)
        return cls(primary, tuple(keys.values()))

    def save(self, path: str | Path, *, over: bool = True) -> None:
        """Write it into a file that only its owner reads. The old file stays whole until the new one is.

        Where `path` is a link, what it leads to is written. Without `over` nothing may be there.

        Raises:
            FileExistsError: something is there, and not to be written over. OSError: it cannot be written.
        """
        place = Path(path).resolve()
        beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(self.dump())
                file.flush()
                os.fsync(file.fileno())
            if over:
                beside.replace(place)
            else:
                place.hardlink_to(beside)
        finally:
            beside.unlink(missing_ok=True)
        _sync(place.parent)  # what is sealed from now on is lost without it

    @classmethod
    def load(cls, path: str | Path) -> Keyring:
        """Read a file that nobody but its owner can read.

        Raises:
            KeyringFault: others can read it, or it holds no keyring. OSError: it cannot be read.
        """
        with Path(path).open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyringFault(f"Others can read {os.fspath(path)!r}: chmod 600 it, and consider its keys known.")
            return cls.loads(file.read())

    @classmethod
    def changed(cls, path: str | Path, change: Callable[[Keyring], Keyring]) -> Keyring:
        """Put what `change` makes of a file's keyring in its place. Who changes it meanwhile waits, so no key is lost.

        Raises:
            KeyringFault, OSError: as `load` and `save`; and whatever `change` raises.
        """
        place = Path(path).resolve()
        with _alone(place):
            made = change(cls.load(place))
            made.save(place)
        return made

    @classmethod
    def from_environment(cls, variable: str = VARIABLE) -> Keyring:
        """Read the JSON that an environment variable holds.

        Raises:
            KeyringFault: it is not set, or holds no keyring.
        """
        text = os.environ.get(variable)
        if text is None:
            raise KeyringFault(f"The environment variable {variable} is not set; it holds a keyring as JSON.")
        return cls.loads(text.encode(errors="surrogateescape"))

    @classmethod
    def fetched(cls, fetch: Callable[[], bytes]) -> Keyring:
        """Read what a function answers, such as one that asks a key management service.

        Raises:
            KeyringFault: it is no keyring; and whatever `fetch` raises.
        """
        return cls.loads(fetch())


def _new_key() -> Key:
    return Key(secrets.token_hex(KID_BYTES), secrets.token_bytes(KEY_BYTES))


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold a file. Who waits for it looks again: another may have taken its place."""
    while True:
        with place.open("rb") as file:
            _lock(file.fileno())
            if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                yield
                return


def _lock(file: int) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode()


def _secret(text: str) -> bytes:
    try:
        secret = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError("not base64url") from None
    if len(secret) != KEY_BYTES:
        raise ValueError("not 256 bits")
    return secret
