"""The commands of an agent's memory tool over files of context: view, create, str_replace, insert, delete, rename."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steadhold.kit.fields import FenceRef
from steadhold.kit.paths import under
from steadhold.sdk import memory_text
from steadhold.sdk.context import TEXT, ContextRoom
from steadhold.sdk.context_shapes import File, FileEntry, FileMoved, FileWritten
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.errors import EnvelopeMismatch, NotFound, Problem, RevisionConflict, StorageExhausted
from steadhold.sdk.grammar import Give, Mode, More, Player, Room, Script, Stream, verb
from steadhold.sdk.memory_text import MemoryRefused, Place, missing


@dataclass(frozen=True, slots=True)
class Drawer:
    """The files of a memory, as its commands need them. Without `move`, a file is written anew and deleted."""

    read: Callable[[str], Script[File]]
    write: Callable[[str, bytes, int | None, str], Script[FileWritten]]
    delete: Callable[[str, int], Script[int]]
    files: Callable[[str], Stream[FileEntry]]
    move: Callable[[str, str, int], Script[FileMoved]] | None = None


def drawer(room: ContextRoom[Any], fences: Sequence[FenceRef] = ()) -> Drawer:
    """The files of `client.context`; what is written relies on grants."""
    write, delete, move = ContextRoom.write.script, ContextRoom.delete.script, ContextRoom.move.script
    return Drawer(
        lambda path: ContextRoom.read.script(room, path),
        lambda path, body, expected, kind: write(
            room, path, body, if_revision=expected, content_type=kind, fences=fences
        ),
        lambda path, revision: delete(room, path, if_revision=revision, fences=fences),
        lambda prefix: ContextRoom.files.script(room, prefix),
        lambda source, target, revision: move(room, source, target, if_revision=revision, fences=fences),
    )


COMMANDS: Final[Mapping[str, tuple[Mapping[str, type], Mapping[str, type]]]] = {
    "view": ({"path": str}, {"view_range": list}),
    "create": ({"path": str, "file_text": str}, {}),
    "str_replace": ({"path": str, "old_str": str}, {"new_str": str}),
    "insert": ({"path": str, "insert_line": int, "insert_text": str}, {}),
    "delete": ({"path": str}, {}),
    "rename": ({"old_path": str, "new_path": str}, {}),
}
"""What each command takes, and what it may be told besides."""


class MemoryRoom(Room[Mode]):
    """`client.memory(prefix)`, and `client.private(keyring).memory(prefix)`: each command answers a text for the model.

    Nothing outside the prefix is read or written, whatever a path says. A command that cannot be done raises
    `MemoryRefused`, whose words are for the model; `run` answers them. What others write at the same time is kept:
    an edit is decided anew on what is there.
    """

    def __init__(self, player: Player, files: Drawer, place: Place) -> None:
        super().__init__(player)
        self._files, self._place = files, place

    @verb
    def run(self, command: Mapping[str, Any]) -> Script[str]:
        """Do what a tool call says (`{"command": "view", "path": "/memories"}`), and answer what to tell the model.

        What is refused, unknown or lacks something is answered, too, and so is a full workspace; whether a change
        whose answer was lost took effect is not (`OutcomeUnknown`), nor what is wrong with the client or its key.
        """
        try:
            name, said = _read(command)
            script: Script[str] = getattr(MemoryRoom, name).script(self, **said)
            return (yield from script)
        except MemoryRefused as why:
            return str(why)
        except (RevisionConflict, StorageExhausted) as why:
            return f"Error: {why.detail or why.title}"

    @verb
    def view(self, path: str, view_range: Sequence[int] | None = None) -> Script[str]:
        """Show a file with the numbers of its lines (all, or those from first to last), or what lies in a directory."""
        at = self._place.inside(path)
        if at != self._place.prefix:
            try:
                found = yield from self._files.read(at)
            except NotFound:
                pass
            else:
                text = memory_text.decoded(path, found.body)
                shown = memory_text.numbered(text, view_range)
                return f"Here's the content of {path} with line numbers:\n{shown}"
        entries = yield from self._under(at)
        if not entries and at != self._place.prefix:
            raise MemoryRefused(f"The path {path} does not exist. Please provide a valid path.")
        return memory_text.listed(self._place, at, entries)

    @verb
    def create(self, path: str, file_text: str) -> Script[str]:
        """Write a file that is not there yet."""
        at = self._file(path)
        try:
            yield from self._files.write(at, memory_text.encoded(file_text), None, TEXT)
        except RevisionConflict:
            raise MemoryRefused(f"Error: File {path} already exists") from None
        return f"File created successfully at: {path}"

    @verb
    def str_replace(self, path: str, old_str: str, new_str: str = "") -> Script[str]:
        """Put one text in the place of another, which stands in the file exactly once."""
        line = 0

        def edit(text: str) -> str:
            nonlocal line
            after, line = memory_text.replaced(path, text, old_str, new_str)
            return after

        text = yield from self._edit(path, edit)
        return f"The memory file has been edited.\n{memory_text.snippet(text, line)}"

    @verb
    def insert(self, path: str, insert_line: int, insert_text: str) -> Script[str]:
        """Put lines behind line `insert_line`, 0 for the beginning."""
        yield from self._edit(path, lambda text: memory_text.inserted(text, insert_line, insert_text))
        return f"The file {path} has been edited."

    @verb
    def delete(self, path: str) -> Script[str]:
        """Delete a file, or a directory with all that is in it, one file after the other."""
        for entry in (yield from self._meant(path)):
            yield from self._drop(entry)
        return f"Successfully deleted {path}"

    @verb
    def rename(self, old_path: str, new_path: str) -> Script[str]:
        """Call a file otherwise, or a directory: then one file after the other. Nothing is written over.

        Under a private prefix a file is sealed under its new name first, and removed under the old one then: whoever is
        stopped in between leaves both.
        """
        found, source, target = (yield from self._meant(old_path)), self._file(old_path), self._file(new_path)
        if under(target, source):
            raise MemoryRefused(f"Error: The destination {new_path} lies within {old_path}.")
        if (yield from self._under(target)):
            raise MemoryRefused(f"Error: The destination {new_path} already exists")
        for entry in found:
            yield from self._rename(entry, target + entry.path.removeprefix(source), new_path)
        return f"Successfully renamed {old_path} to {new_path}"

    def _file(self, said: str) -> str:
        at = self._place.inside(said)
        if at == self._place.prefix:
            raise MemoryRefused(f"Error: The path {said} is the memory itself.")
        return at

    def _meant(self, said: str) -> Script[list[FileEntry]]:
        """The file at a path, or where there is none what is in that directory."""
        at = self._file(said)
        found = yield from self._under(at)
        alone = [entry for entry in found if entry.path == at]
        if not found:
            raise MemoryRefused(f"Error: The path {said} does not exist")
        return alone or found

    def _under(self, at: str) -> Script[list[FileEntry]]:
        found: list[FileEntry] = []
        stream = self._files.files(at)
        try:
            step = next(stream)
            while True:
                if isinstance(step, Give):
                    found.append(step.item)
                    step = next(stream)
                else:
                    assert not isinstance(step, More), "a list is asked for page by page"
                    step = stream.send((yield step))
        except StopIteration:
            return found

    def _edit(self, said: str, change: Callable[[str], str]) -> Script[str]:
        at = self._file(said)

        def decide(found: File | None) -> Script[str]:
            assert found is not None, "nothing is edited that is not there"
            after = change(memory_text.decoded(said, found.body))
            yield from self._files.write(at, memory_text.encoded(after), found.revision, found.content_type)
            return after

        try:
            return (
                yield from deciding(lambda: self._files.read(at), decide, TRIES_MAX, EnvelopeMismatch, creates=False)
            )
        except NotFound:
            raise missing(said) from None

    def _drop(self, entry: FileEntry) -> Script[None]:
        """Delete what was meant; what is gone already is gone."""
        try:
            yield from self._files.delete(entry.path, entry.revision)
        except NotFound:
            return

    def _rename(self, entry: FileEntry, target: str, said: str) -> Script[None]:
        taken = MemoryRefused(f"Error: The destination {said} already exists")
        if self._files.move is not None:
            try:
                yield from self._files.move(entry.path, target, entry.revision)
            except Problem as why:
                raise (taken if why.code == "path_taken" else why) from None
            return
        found = yield from self._files.read(entry.path)
        try:
            yield from self._files.write(target, found.body, None, found.content_type)
        except RevisionConflict:
            raise taken from None
        yield from self._files.delete(entry.path, found.revision)


def _read(command: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The verb that a tool call means, and what it is told.

    Raises:
        MemoryRefused: it means none.
    """
    name = command.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise MemoryRefused(f"Error: Unknown command {name!r}. There are {', '.join(COMMANDS)}.")
    needed, more = COMMANDS[name]
    said = {key: value for key, value in command.items() if key != "command" and value is not None}
    if lacking := [key for key in needed if key not in said]:
        raise MemoryRefused(f"Error: {name} needs {', '.join(lacking)}.")
    known = {**needed, **more}
    for key, value in said.items():
        if key not in known or not isinstance(value, known[key]) or isinstance(value, bool):
            raise MemoryRefused(f"Error: {name} does not take {key} = {value!r}.")
    if not all(isinstance(number, int) for number in said.get("view_range", ())):
        raise MemoryRefused("Error: Invalid `view_range`: it has two whole numbers.")
    return name, said
