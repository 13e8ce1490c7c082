"""All sinks of a process, each with its one connection, made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from steadhold.events import Publication, Retry
from steadhold.events.flow import Answer, Outside
from steadhold.sinks.jetstream import JetStream
from steadhold.sinks.sink import Sink

SECONDS: Final = 10.0
"""How long a sink may take over a claim; it answers of itself before that."""


class Publishes(Protocol):
    """What a kind of sink can do."""

    async def publish(self, batch: Sequence[Publication]) -> list[Answer]:
        """Publish in order, an answer each: `Taken`, `Retry` or `Reject`.

        Behind the first of a key that was not taken nothing of that key is published. It is bounded in time and raises
        nothing, and no transaction is open.
        """
        ...

    async def close(self) -> None:
        """Let go of what is open."""
        ...


class Sinks:
    """The sinks of a process, by workspace and name."""

    def __init__(self, sinks: Mapping[tuple[str, str], Sink], make: Callable[[Sink], Publishes] | None = None) -> None:
        streams: dict[tuple[str, str], Sink] = {}
        self._made = {at: make(sink) if make else JetStream(sink, streams) for at, sink in sinks.items()}
        self.target = Outside(self._publish, SECONDS, self._knows)

    def _knows(self, workspace: str, name: str) -> bool:
        return (workspace, name) in self._made

    async def _publish(self, workspace: str, name: str, batch: Sequence[Publication]) -> list[Answer]:
        to = self._made.get((workspace, name))
        return [Retry(f"there is no sink {name}") for _ in batch] if to is None else await to.publish(batch)

    async def close(self) -> None:
        """Close every connection."""
        for sink in self._made.values():
            await sink.close()
