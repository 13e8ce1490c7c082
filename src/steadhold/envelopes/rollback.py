"""The highest revision that this client has seen of each name: a server that shows an older one is found out."""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path

import msgspec


class RolledBack(Exception):
    """A name has a lower revision than one that was seen before: an older store was put back, or somebody lies."""

    def __init__(self, name: str, seen: int, revision: int) -> None:
        super().__init__(
            f"{name!r} is at revision {revision}, but revision {seen} was seen before. "
            "If you have put a backup back, remove the file of what was seen."
        )
        self.name, self.seen, self.revision = name, seen, revision


class HighWater:
    """What was seen, in a file of one client: a line for each step up. Share it between threads, not processes.

    An envelope is bound to its revision, so nobody can show an old one under a new number; this file finds the one
    who shows both, the old envelope and its old number.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        self._seen: dict[str, int] = {}
        for line in self._lines():
            place, revision = msgspec.json.decode(line, type=tuple[str, int])
            self._seen[place] = max(revision, self._seen.get(place, 0))

    def _lines(self) -> list[bytes]:
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return []
        lines = raw.split(b"\n")
        if lines.pop():  # a line that was cut short: what it said was not relied on yet
            self._write_anew(lines)
        return lines

    def _write_anew(self, lines: list[bytes]) -> None:
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)

    def saw(self, workspace: str, kind: str, name: str, revision: int) -> None:
        """Take a revision into account, on disk before it is answered.

        Raises:
            RolledBack: it is lower than one that was seen.
        """
        place = f"{workspace}\n{kind}\n{name}"
        with self._lock:
            seen = self._seen.get(place, 0)
            if revision < seen:
                raise RolledBack(name, seen, revision)
            if revision > seen:
                self._write(place, revision)
                self._seen[place] = revision

    def _write(self, place: str, revision: int) -> None:
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(msgspec.json.encode((place, revision)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
