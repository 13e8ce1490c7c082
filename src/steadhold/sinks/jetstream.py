"""NATS JetStream: each event is a message that was taken when its stream has acknowledged it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from steadhold.events import Publication, Reject, Retry, Taken
from steadhold.events.flow import Answer
from steadhold.sinks.sink import Sink, message

CONNECT_SECONDS: Final = 2
ACKNOWLEDGE_SECONDS: Final = 3.0
ANSWER_SECONDS: Final = 8.0
"""When a claim is answered, whatever of it has been acknowledged by then."""

TOO_LARGE: Final = 10_054
"""JetStream's code for a message that its stream never takes."""

Streams = dict[tuple[str, str], Sink]


class JetStream:
    """One sink on one connection, which is made anew when it broke. `streams`: which sink each stream belongs to."""

    def __init__(self, sink: Sink, streams: Streams) -> None:
        self._sink, self._streams = sink, streams
        self._connection: Any = None
        self._connecting = asyncio.Lock()

    async def publish(self, batch: Sequence[Publication]) -> list[Answer]:
        """Publish in order, an answer each; the keys of a batch beside each other."""
        try:
            context = await self._context()
        except Exception as error:  # noqa: BLE001 - whatever keeps it from connecting, it is tried again
            why = f"NATS cannot be reached: {type(error).__name__}: {error}"
            return [Retry(why) for _ in batch]
        until = asyncio.get_running_loop().time() + ANSWER_SECONDS
        keys = [[*line] for _, line in groupby(sorted(batch, key=_key), key=_key)]
        told = await asyncio.gather(*(self._line(context, line, until) for line in keys))
        answers = {one.id: answer for line, said in zip(keys, told, strict=True) for one, answer in _each(line, said)}
        return [answers[one.id] for one in batch]

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close()

    async def _context(self) -> Any:
        from nats.aio.client import Client

        async with self._connecting:
            if self._connection is None or not self._connection.is_connected:
                await self.close()
                connection: Any = Client()
                async with asyncio.timeout(CONNECT_SECONDS):
                    await connection.connect(
                        self._sink.server, connect_timeout=CONNECT_SECONDS, allow_reconnect=False,
                        max_reconnect_attempts=1, reconnect_time_wait=0, error_cb=_heard, name="steadhold",
                    )  # fmt: skip
                self._connection = connection
            return self._connection.jetstream()

    async def _line(self, context: Any, line: Sequence[Publication], until: float) -> list[Answer]:
        """Publish one key, each when the one before it was acknowledged."""
        answers: list[Answer] = []
        for publication in line:
            answers.append(await self._one(context, publication, until))
            if not isinstance(answers[-1], Taken):
                break
        return answers

    async def _one(self, context: Any, publication: Publication, until: float) -> Answer:
        import nats.errors
        import nats.js.errors

        left = min(ACKNOWLEDGE_SECONDS, until - asyncio.get_running_loop().time())
        if left <= 0:
            return Retry("the time of its claim was over")
        said = message(self._sink, publication.event)
        try:
            acknowledged = await context.publish(said.subject, said.body, timeout=left, headers=said.headers)
        except nats.errors.MaxPayloadError:
            return Reject("NATS takes no message as large")
        except nats.js.errors.APIError as error:
            why = f"JetStream: {error.description}"
            return Reject(why) if error.err_code == TOO_LARGE else Retry(why)
        except nats.js.errors.NoStreamResponseError:
            return Retry(f"no stream takes the subject {said.subject}")
        except Exception as error:  # noqa: BLE001 - whatever it was, it was not acknowledged
            return Retry(f"not acknowledged: {type(error).__name__}: {error}")
        return self._mine(acknowledged.stream)

    def _mine(self, stream: str) -> Answer:
        """A stream knows duplicates by event ids, which two workspaces may both have: it takes one sink's alone."""
        owner = self._streams.setdefault((self._sink.server, stream), self._sink)
        if owner is self._sink:
            return Taken()
        return Retry(f"the stream {stream} is that of the sink {owner.workspace}/{owner.name}: give each its own")


def _key(publication: Publication) -> str:
    return publication.key


def _each(line: Sequence[Publication], said: Sequence[Answer]) -> Iterator[tuple[Publication, Answer]]:
    """What was not reached waits behind the one that was not taken."""
    behind = Retry("behind one that was not taken")
    for n, publication in enumerate(line):
        yield publication, said[n] if n < len(said) else behind


async def _heard(_error: Exception) -> None:
    """Say nothing: what went wrong is the answer of whatever was being published."""
