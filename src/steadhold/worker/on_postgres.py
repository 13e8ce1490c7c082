"""The door directly on PostgreSQL: the jobs plans, played on connections of our own. Needs the `server` extra."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar, cast

import asyncpg

from steadhold import access, jobs
from steadhold.db.errors import DatabaseError
from steadhold.db.pool import ABSENT, STATEMENT_CACHE, Pool, PoolClosedError
from steadhold.jobs import hints, reading, settling
from steadhold.jobs.model import Settlement
from steadhold.jobs.outcomes import Beat, Beaten, Checkpoint, Claimed, Settled
from steadhold.jobs.plans import CheckpointOutcome
from steadhold.jobs.settling import SettleOutcome
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.kit.plan import Call
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Busy, OutcomeUnknown, Single, Unavailable
from steadhold.worker.door import Ask, DoorShut, Jammed, Stage
from steadhold.worker.effects_door import EffectsDoor
from steadhold.worker.effects_on_postgres import EffectsOnPostgres

T = TypeVar("T")

CLAIM_MAX: Final = 500
INPUTS_BYTES_MAX: Final = 32 * 1024
"""What a claim's transaction answers of inputs: little enough that all of its answer is on its way at once, whether or
not we are there to take it. A back end that has to wait for us would hold what it locked for as long as we are halted.
"""

HURRY_MS: Final = 250
"""How long settlements may wait together for a row that a stranger holds, before each waits apart."""

LISTEN_AGAIN_SECONDS: Final = 1.0
SHUT: Final = (
    *ABSENT, Busy, OutcomeUnknown, Unavailable, PoolClosedError, OSError, asyncpg.InterfaceError, DatabaseError,
)  # fmt: skip


class WorkspaceMissing(Exception):
    """There is no such workspace in this database: nothing could ever be claimed."""


class OnPostgres:
    """Claims and settlements have transactions of their own; checkpoints of many handlers share them."""

    wakes = False
    claim_max = CLAIM_MAX

    def __init__(self, dsn: str, workspace: str, *, size: int, statements: int = STATEMENT_CACHE) -> None:
        self._dsn, self._workspace = dsn, workspace
        self._pool = Pool(dsn, size=size, statements=statements, application_name="steadhold worker")
        self._patient = Single(self._pool)
        self._hurried = Single(self._pool, lock_timeout_ms=HURRY_MS)
        self._shared = Lockstep(self._pool)
        self.effects: EffectsDoor = EffectsOnPostgres(workspace, self._share)

    async def look(self) -> None:
        """See that the workspace exists.

        Raises:
            WorkspaceMissing. DoorShut.
        """
        if not await _asked(self._patient.play(access.known.call(self._workspace))):
            raise WorkspaceMissing(f"There is no workspace {self._workspace!r} in this database; create it first.")

    async def claim(self, ask: Ask) -> list[Claimed]:
        """Take jobs. An answer that is lost leaves what was taken to lapse."""
        call = jobs.claim.call(
            self._workspace,
            ask.worker,
            ask.types,
            ask.limit,
            ask.lease_seconds,
            versions=ask.versions,
            floor=ask.floor,
            inputs_bytes_max=INPUTS_BYTES_MAX,
        )
        got = await self._play(call)
        if all(job.input is not None or job.input_ref is not None for job in got):
            return got
        return await self._play(reading.with_inputs.call(self._workspace, got))

    async def heartbeat_many(self, beats: Sequence[Beat]) -> Sequence[Beaten | StaleFence]:
        """Renew leases."""
        return await self._play(jobs.heartbeat_all.call(self._workspace, beats))

    async def checkpoint(self, stage: Stage) -> CheckpointOutcome:
        """Commit a stage."""
        call = jobs.checkpoint.call(
            self._workspace, stage.id, stage.fence, stage.name, stage.result, input_digest=stage.input_digest
        )
        return await self._share(call)

    async def stage(self, id: str, name: str) -> Checkpoint | Missing:
        """Read a committed stage."""
        return await self._share(jobs.checkpoint_of.call(self._workspace, id, name))

    async def settle_many(self, settlements: Sequence[Settlement], *, patient: bool = False) -> Sequence[SettleOutcome]:
        """Settle: first, in one statement, what is only complete; then the others, in a transaction of their own."""
        player = self._patient if patient else self._hurried
        try:
            return await self._settled(player, settlements)
        except Busy as error:
            raise Jammed(_why(error)) from error
        except SHUT as error:
            raise DoorShut(_why(error)) from error

    async def _settled(self, player: Single, settlements: Sequence[Settlement]) -> Sequence[SettleOutcome]:
        plain = [settlement for settlement in settlements if settling.plain(settlement)]
        done = await player.play(settling.complete_all.call(self._workspace, plain)) if plain else []
        if len(done) == len(settlements) and None not in done:
            return cast("list[Settled]", done)
        ended = {answer.id: answer for answer in done if answer is not None}
        others = [settlement for settlement in settlements if settlement.id not in ended]
        said = await player.play(jobs.settle_all.call(self._workspace, others))
        known: dict[str, SettleOutcome] = dict(zip((settlement.id for settlement in others), said, strict=True))
        return [ended.get(settlement.id) or known[settlement.id] for settlement in settlements]

    async def listen(self, woken: Callable[[str], None]) -> None:
        """Listen on the channel of hints. A hint that is missed is made good by the next poll."""

        def heard(_conn: Any, _pid: int, _channel: str, payload: object) -> None:
            workspace, type = hints.heard(payload)
            if workspace == self._workspace:
                woken(type)

        while True:
            with contextlib.suppress(*SHUT):  # the database is away; claims say so
                await self._listen_once(heard)
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    async def _listen_once(self, heard: Callable[..., None]) -> None:
        ended = asyncio.Event()
        named = {"application_name": "steadhold worker wake"}
        conn = await asyncpg.connect(self._dsn, statement_cache_size=0, server_settings=named)
        try:
            conn.add_termination_listener(lambda _conn: ended.set())
            await conn.add_listener(hints.CHANNEL, heard)
            await ended.wait()
        finally:
            conn.terminate()

    async def close(self) -> None:
        """Close the pool."""
        await self._shared.close()
        await self._pool.close()

    async def _play(self, call: Call[T]) -> T:
        return await _asked(self._patient.play(call))

    async def _share(self, call: Call[T]) -> T:
        return await _asked(self._shared.play(call))


async def _asked(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except SHUT as error:
        raise DoorShut(_why(error)) from error


def _why(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


async def wake(conn: Any, workspace: str, types: Iterable[str]) -> None:
    """Tell workers that jobs of these types were submitted, so that none waits for its next poll.

    `conn` is an asyncpg connection outside any transaction, after the submission was committed: a notification
    inside a transaction makes every commit wait for every other.
    """
    await conn.execute(hints.TELL, hints.CHANNEL, hints.payloads((workspace, type) for type in types))
