"""The key of a development server: made once for a data folder and kept there, so that it survives restarts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from steadhold import access
from steadhold.cli.database import played
from steadhold.cli.exits import Said
from steadhold.kit import ids

WORKSPACE: Final = "dev"


def kept(file: Path) -> access.Token:
    """The key that a file holds, or a fresh one that it holds from now on, for its owner's eyes only."""
    if not file.exists():
        token = access.Token("dev", access.key_id_of(ids.new_id()), access.secret_of(ids.new_secret()))
        _write(file, token.text)
    file.chmod(0o600)
    token = access.parse_token(file.read_text(encoding="utf-8").strip())
    if token is None:
        raise Said(f"{file} holds no key.", next="Remove it; the next start makes another.")
    return token


def _write(file: Path, text: str) -> None:
    """Write a file whole, for its owner's eyes only."""
    half = file.with_suffix(".new")
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as writing:
        writing.write(text + "\n")
        os.fsync(descriptor)
    half.rename(file)


def sealing(file: Path) -> str:
    """The key by which a folder's secrets are sealed; a fresh one where there is none yet."""
    from steadhold.kit import seal

    if not file.exists():
        _write(file, seal.new_key())
    file.chmod(0o600)
    text = file.read_text(encoding="utf-8").strip()
    try:
        seal.read_keys(text)
    except seal.KeyFault as error:
        raise Said(f"{file} holds no sealing key: {error}.", next="Put back the one it held.") from None
    return text


async def imported(dsn: str, file: Path) -> str:
    """Make the folder's key known to its database; its text. Raises Said where it was revoked."""
    token = kept(file)
    call = access.import_key.call(
        WORKSPACE, token.key_id, token.hash, env="dev", subject="dev", kind="person", scopes=("*:*",)
    )
    (made,) = await played(dsn, call)
    if isinstance(made, access.Taken) or made.key.state != "active":
        raise Said(f"The key in {file} was revoked or rotated.", next="Remove the file; the next start makes another.")
    return token.text
