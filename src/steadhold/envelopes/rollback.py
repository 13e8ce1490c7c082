"""The highest revision that this client has seen of each name: a server that shows an older one is found out."""

from __future__ import annotations

import errno
import os
import secrets
import threading
from io import RawIOBase
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

    What is damaged in its middle is a ValueError: put back a copy, or remove it and begin anew.
    An envelope is bound to its revision, so nobody can show an old one under a new number; this file finds the one
    who shows both, the old envelope and its old number.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        self._seen: dict[str, int] = {}
        for number, line in enumerate(self._lines(), 1):
            place, revision = self._said(line, number)
            self._seen[place] = max(revision, self._seen.get(place, 0))

    def _said(self, line: bytes, number: int) -> tuple[str, int]:
        try:
            return msgspec.json.decode(line, type=tuple[str, int])
        except ValueError:
            why = f"Line {number} of {os.fspath(self._path)!r} is damaged: what was seen cannot be relied on any more."
        raise ValueError(why)

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

    def seen(self, workspace: str, kind: str, name: str) -> int:
        """The highest revision that was seen of a name; 0 where none was."""
        with self._lock:
            return self._seen.get(_place(workspace, kind, name), 0)

    def saw(self, workspace: str, kind: str, name: str, revision: int, least: int | None = None) -> None:
        """Take a revision into account, on disk before it is answered.

        `least` is what was `seen` before it was asked for: who was asked then may answer late, and honestly, what
        another thread has seen a newer one of meanwhile. None: what has been seen by now.

        Raises:
            RolledBack: it is lower than that. OSError: it cannot be written, and is not taken into account.
        """
        place = _place(workspace, kind, name)
        with self._lock:
            seen = self._seen.get(place, 0)
            if revision < (lowest := seen if least is None else least):
                raise RolledBack(name, lowest, revision)
            if revision > seen:
                self._write(place, revision)
                self._seen[place] = revision

    def _write(self, place: str, revision: int) -> None:
        line = msgspec.json.encode((place, revision)) + b"\n"
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                _append(file, line)
            except OSError:
                file.truncate(end)  # half a line would spoil the next one
                raise


def _append(file: RawIOBase, line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError(errno.ENOSPC, "No space for a whole line")
    os.fsync(file.fileno())


def _place(workspace: str, kind: str, name: str) -> str:
    return f"{workspace}\n{kind}\n{name}"
