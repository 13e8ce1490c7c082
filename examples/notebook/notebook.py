"""An agent's notebook that only the agent can read: the commands of a memory tool over sealed files.

python notebook.py view [PATH] | create PATH TEXT | replace PATH OLD NEW | insert PATH LINE TEXT | delete PATH
    | rename PATH PATH
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from steadhold import Client
from steadhold.envelopes import Keyring
from steadhold.sdk.errors import NotFound, RevisionConflict

PREFIX, KEYS = "notebook", Path("keys.json")


class Notebook:
    """Every command answers a sentence, which is what a model reads; none of them overwrites what others wrote."""

    def __init__(self, client: Client, keyring: Keyring) -> None:
        client.prefixes.make("context", PREFIX)
        self.files = client.private(keyring).context

    def view(self, path: str = "") -> str:
        """Show a note with the numbers of its lines, or the names of all notes."""
        if not path:
            names = [found.path.removeprefix(f"{PREFIX}/") for found in self.files.files(PREFIX)]
            return "\n".join(names) or "The notebook is empty."
        lines = self.files.read(f"{PREFIX}/{path}").text.splitlines()
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))

    def create(self, path: str, text: str) -> str:
        """Begin a note; one that is there already is not written over."""
        self.files.write(f"{PREFIX}/{path}", text, if_revision=None)
        return f"{path} is written."

    def replace(self, path: str, old: str, new: str) -> str:
        """Put one text in place of another, which must stand there exactly once."""

        def replaced(text: str) -> str:
            if text.count(old) != 1:
                raise ValueError(f"{old!r} stands {text.count(old)} times in {path}, not once: say more of it.")
            return text.replace(old, new)

        return self._edited(path, replaced)

    def insert(self, path: str, line: str, text: str) -> str:
        """Put a line behind line number `line`, 0 for the top."""

        def inserted(before: str) -> str:
            lines = before.splitlines()
            return "\n".join([*lines[: int(line)], text, *lines[int(line) :]])

        return self._edited(path, inserted)

    def _edited(self, path: str, change: Callable[[str], str]) -> str:
        self.files.edit(f"{PREFIX}/{path}", lambda body: change(body.decode()).encode())
        return f"{path} is changed."

    def delete(self, path: str) -> str:
        """Remove a note."""
        self.files.delete(f"{PREFIX}/{path}", if_revision=self.files.read(f"{PREFIX}/{path}").revision)
        return f"{path} is gone."

    def rename(self, path: str, to: str) -> str:
        """Seal a note under another name, and remove it here: an envelope is bound to its name."""
        note = self.files.read(f"{PREFIX}/{path}")
        self.files.write(f"{PREFIX}/{to}", note.body, if_revision=None, content_type=note.content_type)
        self.files.delete(f"{PREFIX}/{path}", if_revision=note.revision)
        return f"{path} is called {to} now."


def main(command: str = "view", *words: str) -> str:
    """Do what the command says."""
    if not KEYS.exists():
        Keyring.generate().save(KEYS)
    with Client() as client:
        try:
            answer: str = getattr(Notebook(client, Keyring.load(KEYS)), command)(*words)
        except NotFound:
            return "There is no such note."
        except RevisionConflict:
            return "There is a note of this name, or somebody changed it just now: view it, and decide again."
        except ValueError as why:
            return str(why)
    return answer


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
