"""context over HTTP: an archive is taken entry by entry, each as if it had been sent alone."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from steadhold.context import archive
from steadhold.context.answers import nothing_to_replace, refused
from steadhold.context.archive import BLOCK, OURS, BadArchive, Header
from steadhold.context.incoming import Asking, Target, gather
from steadhold.context.model import OCTETS, Missing, RevisionConflict, Written, content_type_fault
from steadhold.context.wire import ImportedItem, ImportedReply
from steadhold.kit import limits, paths
from steadhold.kit.plan import Call, Refusal
from steadhold.private import EnvelopeMismatch, RewrapNeeded
from steadhold.web import query, reply
from steadhold.web.ask import Answer, Problem, Pull, Request, Taking
from steadhold.web.codes import PROBLEMS


def take(ask: Request) -> Taking[Any]:
    """Write the regular files of an archive, an outcome each; what one came to changes nothing for the others.

    An entry is created, unless its record `STEADHOLD.if_match` names the revision that it replaces.
    """
    importing = Import(ask, query.prefix(ask))
    return Taking(importing.steps, lambda _: importing.after())


@dataclass(slots=True)
class Import:
    """An archive on its way in. `left` is what is unread of the entry that it is at."""

    ask: Request
    prefix: str
    files: list[ImportedItem] = field(default_factory=list[ImportedItem])
    left: int = 0
    target: Target | None = None

    def after(self) -> Call[bool] | None:
        """Give up what was being written when the archive ended."""
        return None if self.target is None else self.target.after(None)

    def steps(self) -> Generator[Pull | Call[Any], Any, Answer]:
        """Take all entries. What is no archive is refused; one that breaks off has imported what came before."""
        try:
            while (entry := (yield from self._header())) is not None:
                self.files.append((yield from self._entry(entry)))
        except BadArchive as why:
            if not self.files:
                return Problem("bad_archive", f"This is no archive in tar's POSIX format: {why}.")
            return reply.json(ImportedReply(complete=False, files=self.files, detail=f"It breaks off: {why}."))
        behind = 0
        while isinstance(piece := (yield Pull(limits.CONTEXT_CHUNK_BYTES)), bytes):
            behind += len(piece) - piece.count(0)  # blocks of nothing fill the record behind the end
        detail = "Something stands behind the end of the archive, and was not read." if behind else None
        return reply.json(ImportedReply(complete=not behind, files=self.files, detail=detail))

    def _header(self) -> Generator[Pull, Any, Header | None]:
        said: dict[str, str] = {}
        heading = 0
        while True:
            found = archive.header((yield from _exactly(BLOCK)))
            if found is None:
                return None
            if found.more is None:
                if found.map:
                    yield from _pass_map(heading)
                return found.with_records(said)
            heading += BLOCK + found.size
            _bounded(heading)
            raw = yield from _exactly(found.size + archive.padding(found.size))
            if found.more == "name":
                said["path"] = _text(raw[: found.size].rstrip(b"\0"))
            elif found.more == "records":
                said |= archive.records(raw[: found.size])

    def _entry(self, entry: Header) -> Generator[Pull | Call[Any], Any, ImportedItem]:
        if len(self.files) == limits.IMPORT_FILES_MAX:
            raise BadArchive(f"there are more than {limits.IMPORT_FILES_MAX} entries")
        self.left = entry.size
        path = entry.name.removeprefix("./")
        answer = self._refused(path, entry)
        if answer is None:
            answer = yield from self._written(self._target(path, entry), entry.records)
        yield from self._skip(self.left + archive.padding(entry.size))
        return _item(path, answer)

    def _refused(self, path: str, entry: Header) -> Problem | None:
        """What is wrong with an entry that is not even read."""
        if not entry.regular:
            return Problem("not_a_file", "Regular files are imported: no folders, links, devices or sparse files.")
        if why := paths.context_path_fault(path):
            return Problem("bad_name", why)
        if not paths.under(path, self.prefix):
            return Problem("bad_name", f"It is not under the prefix {self.prefix!a} of this import.")
        if not self.ask.permits("context:write", path):
            return Problem("missing_scope", f"This key lacks the scope context:write for {path!a}.")
        if entry.size > limits.CONTEXT_BYTES_MAX:
            return Problem("too_large", f"A file has at most {limits.CONTEXT_BYTES_MAX} bytes.")
        return _bad_records(entry)

    def _target(self, path: str, entry: Header) -> Target:
        match = entry.records.get(OURS + "if_match")
        kind = entry.records.get(OURS + "content_type", OCTETS)
        expected = None if match is None else int(match)
        fresh = f"{self.ask.fresh}.{len(self.files)}"
        return Target(self.ask.workspace, path, expected, kind, fresh, self.ask.fences, entry.size)

    def _written(self, target: Target, records: Any) -> Asking:
        self.target = target
        seen = {"sha-256": hashlib.sha256()}
        came = yield from gather(target, self._read, seen)
        said = records.get(OURS + "sha256", seen["sha-256"].hexdigest())
        outcome: Written | Refusal | Problem
        if isinstance(came, Refusal):
            outcome = came
        elif said != seen["sha-256"].hexdigest():
            outcome = Problem("digest_mismatch", "The bytes are not those that the record STEADHOLD.sha256 names.")
        else:
            outcome = yield came
        if last := target.after(outcome):
            yield last
        self.target = None
        if isinstance(outcome, Missing):
            return nothing_to_replace(outcome)
        if isinstance(outcome, EnvelopeMismatch):
            outcome = RewrapNeeded()
        if isinstance(outcome, RevisionConflict) and target.expected is None:
            why = (
                "There is a file at this path; the record STEADHOLD.if_match names the revision that an entry replaces."
            )
            return Problem("condition_false", why, {"current_revision": outcome.current})
        return refused(outcome) if isinstance(outcome, Refusal) else outcome

    def _read(self, most: int) -> Generator[Pull, Any, bytes]:
        piece = yield from _exactly(min(most, self.left))
        self.left -= len(piece)
        return piece

    def _skip(self, count: int) -> Generator[Pull, Any, None]:
        while count:
            count -= len((yield from _exactly(min(count, limits.CONTEXT_CHUNK_BYTES))))
        self.left = 0


def _exactly(count: int) -> Generator[Pull, Any, bytes]:
    if count == 0:
        return b""
    piece = yield Pull(count)
    if not isinstance(piece, bytes) or len(piece) < count:
        raise BadArchive("it ends early")
    return piece


def _pass_map(heading: int) -> Generator[Pull, Any, None]:
    while archive.map_goes_on((yield from _exactly(BLOCK))):
        heading += BLOCK
        _bounded(heading)


def _bounded(heading: int) -> None:
    if heading > limits.IMPORT_HEADER_BYTES_MAX:
        raise BadArchive(f"a header has more than {limits.IMPORT_HEADER_BYTES_MAX} bytes")


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadArchive("a name is not UTF-8") from None


def _bad_records(entry: Header) -> Problem | None:
    match = entry.records.get(OURS + "if_match", "1")
    if not match.isascii() or not match.isdecimal() or len(match) > 19 or not 0 < int(match) < 2**63:
        return Problem("bad_header", "The record STEADHOLD.if_match is a revision, a whole number.")
    if why := content_type_fault(entry.records.get(OURS + "content_type", OCTETS)):
        return Problem("bad_header", why)
    return None


def _item(path: str, answer: Written | Problem) -> ImportedItem:
    if isinstance(answer, Written):
        return ImportedItem(path=path, status=201 if answer.created else 200, revision=answer.revision)
    return ImportedItem(
        path=path,
        status=PROBLEMS[answer.code].status,
        code=answer.code,
        detail=answer.detail,
        current_revision=answer.extras.get("current_revision"),
    )
