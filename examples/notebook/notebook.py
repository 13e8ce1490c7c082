"""An agent's notebook that only the agent can read: the commands of a memory tool over sealed files.

python notebook.py view PATH [FIRST LAST] | create PATH TEXT | str_replace PATH OLD NEW | insert PATH LINE TEXT
    | delete PATH | rename PATH PATH
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steadhold import Client
from steadhold.envelopes import Keyring

PREFIX, KEYS = "notebook", Path("keys.json")
TAKES = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}


def call_of(command: str, *words: str) -> dict[str, Any]:
    """The tool call that a model would make."""
    call: dict[str, Any] = {"command": command, **dict(zip(TAKES.get(command, ()), words, strict=False))}
    if command == "view" and len(words) == 3:
        call["view_range"] = [int(word) for word in words[1:]]
    if "insert_line" in call:
        call["insert_line"] = int(call["insert_line"])
    return call


def answered(client: Client, keyring: Keyring, call: dict[str, Any]) -> str:
    """What to tell the model: hand this function the `input` of each of its tool calls."""
    client.prefixes.make("context", PREFIX)
    return client.private(keyring).memory(PREFIX).run(call)


def main(command: str = "view", *words: str) -> str:
    """Do what the command says."""
    if not KEYS.exists():
        Keyring.generate().save(KEYS)
    with Client() as client:
        return answered(client, Keyring.load(KEYS), call_of(command, *(words or ("/memories",))))


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
