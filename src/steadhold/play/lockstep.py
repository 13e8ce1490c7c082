"""Group commit: the calls of one workspace that queued while the last commit ran go in one transaction."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from steadhold.kit.plan import Call
from steadhold.play.flush import Entry, Flush, nothing_done, settle
from steadhold.play.lane import Lane
from steadhold.play.preparing import Unprepared, learn
from steadhold.play.single import (
    DEADLOCK,
    LOCK_TIMEOUT,
    PATIENCE_MS,
    Busy,
    OutcomeUnknown,
    Pool,
    Single,
    translated,
)
from steadhold.play.transaction import Transaction

T = TypeVar("T")

FLUSH_CALLS_MAX: Final = 256
QUEUE_CALLS_MAX: Final = 10_000
SECOND_FLUSHER_FROM: Final = 64  # below, one flusher makes the larger batches and is faster
GATHER_FROM, GATHER_SECONDS_MAX = 4, 0.01
HURRY_MS: Final = 100
REGROUP_PASSES: Final = 3
"""Of the loop: one to tell those who lost, one in which they are heard again, one to place what they ask."""


class Lockstep:
    """Plays calls in group commits, and alone where one may not share or its group failed.

    No timer waits for a batch to fill: a flush takes what is there. Only where it `gathers`, which suits a process
    among others on one machine, it waits for those whom the last one answered, no longer than that one took. `stats`
    counts flushes, calls and the causes of playing alone. Of the pool's connections at most a third ever wait for locks
    of strangers; who finds none of those free waits in memory, and no longer in all than `patience_ms`.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        flushers: int = 2,
        hurry_ms: int = HURRY_MS,
        patience_ms: int = PATIENCE_MS,
        queue_calls_max: int = QUEUE_CALLS_MAX,
        gathers: bool = False,
    ) -> None:
        self.pool, self.hurry_ms, self.patience_ms = pool, hurry_ms, patience_ms
        self.queue_calls_max, self.gathers = queue_calls_max, gathers
        self.second_from = FLUSH_CALLS_MAX if gathers else SECOND_FLUSHER_FROM
        self.hurried = Single(pool, lock_timeout_ms=hurry_ms)
        share = max(1, pool.size // 3)
        self.alone = asyncio.Semaphore(share)
        self.waiting_for_strangers = asyncio.Semaphore(share)
        self.idle_flushers = flushers
        self.lanes: dict[str, Lane] = {}
        self.turns: deque[Lane] = deque()
        self.tasks: set[asyncio.Task[None]] = set()
        self.stats: Counter[str] = Counter()

    async def play(self, call: Call[T]) -> T:
        """Play a call; its effect is committed when this returns.

        Raises `Busy` (a row stayed locked, or the queue is full), `Unavailable` (nothing happened) or
        `OutcomeUnknown` (what broke may have been committed). A caller who is cancelled disturbs nobody.
        """
        if call.single:
            return await self._play_single(call)
        lane = self.lanes.get(call.workspace) or self.lanes.setdefault(call.workspace, Lane(call.workspace))
        if lane.calls >= self.queue_calls_max:
            self.stats["refused queue_full"] += 1
            raise Busy
        entry = Entry(call, lane.loop)
        self._place(lane, entry)
        return await entry.answer

    async def close(self) -> None:
        """Wait until everybody has been answered."""
        while self.tasks:
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _play_single(self, call: Call[T]) -> T:
        arrived = asyncio.get_running_loop().time()
        try:
            return await self.hurried.play(call)
        except Busy as busy:
            self.stats["waited for a stranger"] += 1
            return await self._patiently(call, arrived, busy)

    async def _patiently(self, call: Call[T], arrived: float, busy: Busy) -> T:
        """Play on one of the connections that may wait for strangers, for what is left of the caller's patience."""
        clock = asyncio.get_running_loop()
        until = arrived + self.patience_ms / 1_000
        try:
            async with asyncio.timeout_at(until):
                await self.waiting_for_strangers.acquire()
        except TimeoutError:
            raise busy from None
        try:
            left = max(1, round((until - clock.time()) * 1_000))
            return await Single(self.pool, lock_timeout_ms=left).play(call)
        finally:
            self.waiting_for_strangers.release()

    def _leave(self, lane: Lane) -> None:
        if lane.idle:
            self.lanes.pop(lane.workspace, None)

    def _place(self, lane: Lane, entry: Entry[Any]) -> None:
        if lane.stuck and entry.call.subject and lane.stuck[entry.call.subject]:
            lane.parked.append(entry)
            return
        lane.place(entry)
        self._give_turn(lane)

    def _give_turn(self, lane: Lane) -> None:
        wanted = 1 if len(lane.ready) < self.second_from else 2
        if lane.queued or lane.flushers >= wanted or not lane.ready:
            return
        lane.queued = True
        self.turns.append(lane)
        if self.idle_flushers:
            self.idle_flushers -= 1
            self._spawn(self._flusher())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _flusher(self) -> None:
        """Flush while there is a workspace with callers; workspaces take turns."""
        try:
            while self.turns:
                lane = self.turns.popleft()
                lane.queued, lane.flushers = False, lane.flushers + 1
                try:
                    began = asyncio.get_running_loop().time()
                    answered = await self._flush(lane)
                    await self._regroup(lane)
                    await self._gather(lane, answered, asyncio.get_running_loop().time() - began)
                finally:
                    lane.flushers -= 1
                    self._give_turn(lane)
                    self._leave(lane)
        finally:
            self.idle_flushers += 1

    async def _regroup(self, lane: Lane) -> None:
        """Where a whole flush was refused, let its callers come back and go with those who wait.

        The callers of one hot name part in two otherwise: those who come while the others win are too late, and then
        learn a revision that the others replace while they do, so that every second flush is for nothing.
        """
        for _ in range(REGROUP_PASSES if lane.lost else 0):
            await asyncio.sleep(0)
        lane.lost = False

    async def _gather(self, lane: Lane, answered: int, took: float) -> None:
        """Let those who were answered come back and go with those who wait, if they are as fast as this was.

        The callers of a workspace part in two otherwise, of whom one half asks while the other's flush runs. That keeps
        a core busy which nobody else would use; but a commit of all costs little more than one of half of them.
        """
        if self.gathers and answered >= GATHER_FROM and not self.turns:
            await lane.gather(answered, min(took, GATHER_SECONDS_MAX))

    async def _flush(self, lane: Lane) -> int:
        """Play those who wait; how many they were."""
        try:
            conn = await self.pool.take()
        except Exception as error:  # noqa: BLE001 - nobody's call has begun; each caller gets it
            for entry in lane.take(len(lane.ready)):
                entry.fail(translated(error))
            return 0
        try:
            entries = lane.take(FLUSH_CALLS_MAX)
            if entries:
                await self._play_together(conn, lane, entries)
            return len(entries)
        finally:
            self.pool.give(conn)

    async def _play_together(self, conn: Any, lane: Lane, entries: list[Entry[Any]]) -> None:
        self.stats["flushes"] += 1
        self.stats["calls"] += len(entries)
        at = Transaction(conn, lane.workspace, self.hurry_ms, {entry.call.name for entry in entries})
        flush = Flush(at)
        try:
            await self._run(flush, entries)
            lane.lost = nothing_done(entries)
            await (at.roll_back() if lane.lost else at.commit())
        except OutcomeUnknown as error:
            self._leave_unknown(entries, error)
        except Exception as error:  # noqa: BLE001 - whoever is to blame gets it when played alone
            if at.ended:
                return self._leave_unknown(entries, OutcomeUnknown(str(error)))
            await at.roll_back()
            self._play_apart(lane, entries, flush, error)
        else:
            for entry in settle(entries):
                self.stats["again"] += 1
                self._place(lane, entry)

    async def _run(self, flush: Flush, entries: Sequence[Entry[Any]]) -> None:
        """Carry all plans to their ends in a transaction, and again where a statement has to be prepared first."""
        while True:
            try:
                return await flush.run(entries)
            except Unprepared as asked:
                learn(flush.at.conn, asked.query, {entry.call.name for entry in flush.suspects})
            await flush.at.roll_back()
            for entry in entries:
                entry.forget()

    def _leave_unknown(self, entries: Sequence[Entry[Any]], error: OutcomeUnknown) -> None:
        self.stats["outcome_unknown"] += len(entries)
        for entry in entries:
            entry.fail(error)

    def _play_apart(self, lane: Lane, entries: Sequence[Entry[Any]], flush: Flush, error: Exception) -> None:
        """The flush was rolled back: those who may be to blame play alone, the others in the next flush."""
        state = getattr(error, "sqlstate", None) or type(error).__name__
        self.stats[f"fallback {state}"] += 1
        suspects = set(flush.suspects or entries)
        at = next((entry.step.sql.name for entry in suspects if entry.step), None)
        for entry in entries:
            entry.forget()
        lane.ready.extendleft(entry for entry in reversed(entries) if entry not in suspects)
        self._give_turn(lane)
        for entry in suspects:
            if len(suspects) == 1 and state in (LOCK_TIMEOUT, DEADLOCK):
                self._be_patient(lane, entry, Busy(at or entry.call.name))
            else:
                lane.apart += 1
                self._spawn(self._hurry(lane, entry))

    async def _hurry(self, lane: Lane, entry: Entry[Any]) -> None:
        """Play one call alone; if a stranger holds what it needs, it has to wait."""
        self.stats["alone"] += 1
        try:
            async with self.alone:
                entry.outcome = await self.hurried.play(entry.call)
            entry.settle()
        except Busy as busy:
            self._be_patient(lane, entry, busy)
        except Exception as error:  # noqa: BLE001 - it is the caller's
            entry.fail(error)
        finally:
            lane.apart -= 1
            self._leave(lane)

    def _be_patient(self, lane: Lane, entry: Entry[Any], busy: Busy) -> None:
        """One call about a subject waits for a stranger's lock on a connection; the others wait in memory."""
        subject = entry.call.subject
        if subject and lane.stuck[subject]:
            lane.parked.append(entry)
            return
        lane.stuck[subject] += 1
        self._spawn(self._wait_for_stranger(lane, entry, busy))

    async def _wait_for_stranger(self, lane: Lane, entry: Entry[Any], busy: Busy) -> None:
        self.stats["waited for a stranger"] += 1
        try:
            entry.outcome = await self._patiently(entry.call, entry.arrived, busy)
            entry.settle()
        except Exception as error:  # noqa: BLE001 - it is the caller's
            entry.fail(error)
        finally:
            self._unpark(lane, entry.call.subject)

    def _unpark(self, lane: Lane, subject: str) -> None:
        lane.stuck -= Counter([subject])
        parked, lane.parked = lane.parked, deque()
        now = asyncio.get_running_loop().time()
        for entry in parked:
            if entry.call.subject == subject and (now - entry.arrived) * 1_000 >= self.patience_ms:
                entry.fail(Busy(f"whatever waits for {subject}"))
            else:
                self._place(lane, entry)
        self._leave(lane)
