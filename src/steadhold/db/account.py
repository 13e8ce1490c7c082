"""The user PostgreSQL runs as: it refuses to be root, so a root process lends it another existing user."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from steadhold.db.errors import EmbeddedError

# PostgreSQL asks for a user that stands in the password file; `nobody` owns nothing else on a sound system.
CANDIDATES = ("nobody", "daemon", "postgres")


@dataclass(frozen=True, slots=True)
class Account:
    """A user by name and numbers; `lent` when this process is root and gives its children another user."""

    name: str
    uid: int
    gid: int
    lent: bool

    def give(self, path: Path, mode: int) -> None:
        """Make `path` this user's own, with `mode`."""
        path.chmod(mode)
        if self.lent:
            os.chown(path, self.uid, self.gid)


def choose(user: str | None = None) -> Account:
    """The account for PostgreSQL: this process's own, or, for root, `user` or the first candidate that exists.

    Raises EmbeddedError when root has nobody to lend.
    """
    if os.geteuid() != 0:
        return Account(_name(os.geteuid()), os.geteuid(), os.getegid(), lent=False)
    for name in (user,) if user else CANDIDATES:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        if found.pw_uid != 0:
            return Account(name, found.pw_uid, found.pw_gid, lent=True)
    wanted = user or ", ".join(CANDIDATES)
    raise EmbeddedError(
        f"PostgreSQL refuses to run as root and no other user was found ({wanted}). Create one: useradd -r postgres"
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        raise EmbeddedError(
            f"User id {uid} has no name in the password file, and PostgreSQL asks for one. Run as a named user."
        ) from None


def barrier(path: Path, account: Account) -> Path | None:
    """The first folder on the way to `path` that `account` cannot enter, or None."""
    groups = {account.gid, *(g.gr_gid for g in grp.getgrall() if account.name in g.gr_mem)}
    for folder in reversed(path.absolute().parents):
        if folder.exists() and not _enters(folder.stat(), account.uid, groups):
            return folder
    return None


def _enters(found: os.stat_result, uid: int, groups: set[int]) -> bool:
    if found.st_uid == uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid in groups:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)
