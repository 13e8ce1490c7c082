"""OpenAI Agents: a session over context, so that a conversation outlives its process and no turn of it is told twice.

`pip install 'steadhold[openai-agents]'`. A session is one file, `<prefix>/<session>`, with an item and its turn a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from steadhold.adapters.naming import segment
from steadhold.kit.fields import FenceRef
from steadhold.sdk.client import AsyncClient
from steadhold.sdk.errors import NotFound

SEGMENT_CHARS_MAX: Final = 300
"""Of a longer session the path has the digest."""


@dataclass(frozen=True, slots=True)
class _Line:
    item: TResponseInputItem
    turn: str | None = None


Lines: TypeAlias = list[_Line]


class SteadholdSession:
    """The items of a conversation: the `Session` protocol of OpenAI Agents.

    `turn` names what the run answers, such as the id of the user's message. A run that begins under a turn that is
    there already takes its place: what a process told of it before it was killed is not told twice. Without one, items
    are only appended. `fences` are grants that must still be current: with its job's, a worker that was replaced adds
    nothing. What writes raises as `client.context.edit` does: StaleFence, StorageExhausted, OutcomeUnknown.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncClient,
        *,
        turn: str | None = None,
        prefix: str = "openai-agents",
        fences: Sequence[FenceRef] = (),
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id, self.session_settings = session_id, session_settings
        self._client, self._turn, self._fences = client, turn, tuple(fences)
        self._path = f"{prefix}/{segment(session_id, SEGMENT_CHARS_MAX)}"
        self._begun = turn is None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest `limit` items, or all, in their order."""
        await self._begin()
        most = resolve_session_limit(limit, self.session_settings)
        lines = await self._lines()
        kept = lines if most is None else lines[max(len(lines) - most, 0) :]
        return [line.item for line in kept]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items behind all others."""
        await self._begin()
        if items:
            more = [_Line(item, self._turn) for item in items]
            await self._edit(lambda lines: [*lines, *more])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away; None where there is none."""
        await self._begin()
        taken: Lines = []

        def take(lines: Lines) -> Lines:
            taken[:] = lines[-1:]
            return lines[:-1]

        if await self._lines():
            await self._edit(take)
        return taken[0].item if taken else None

    async def clear_session(self) -> None:
        """Take all items away."""
        self._begun = True
        if await self._lines():
            await self._edit(lambda _: [])

    async def _begin(self) -> None:
        """Take away what another process told of this turn."""
        if not self._begun:
            if any(line.turn == self._turn for line in await self._lines()):
                await self._edit(lambda lines: [line for line in lines if line.turn != self._turn])
            self._begun = True

    async def _lines(self) -> Lines:
        try:
            return _read((await self._client.context.read(self._path)).body)
        except NotFound:
            return []

    async def _edit(self, change: Callable[[Lines], Lines]) -> None:
        def changed(body: bytes) -> bytes:
            return b"".join([_written(line) for line in change(_read(body))])

        await self._client.context.edit(self._path, changed, create=b"", fences=self._fences)


def _read(body: bytes) -> Lines:
    return [_Line(**json.loads(line)) for line in body.splitlines()]


def _written(line: _Line) -> bytes:
    """A line of JSON as Python writes it, as the sessions that come with OpenAI Agents keep items: NaN is kept, too."""
    told = {"item": line.item} | ({} if line.turn is None else {"turn": line.turn})
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"  # half of a surrogate pair, as JSON escapes it
