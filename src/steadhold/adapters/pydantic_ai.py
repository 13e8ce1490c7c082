"""Pydantic AI: what an agent asks of models and tools becomes stages of a job, so that what was answered is kept.

`pip install 'steadhold[pydantic-ai]'`. A stage is named after the operation, how often that came before in the run, and
where the run began: `clerk__model.request:1`, in the job's second run `clerk__model.request:1@2`, and in one that a
tool begins, behind `@` the stage of that call. So what runs beside, or does not run again, changes no name.
Names are kept with jobs that are under way: they do not change.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import WrapRunHandler
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationBackend,
    DurableOperationId,
    JournalCallableOperationBackend,
    RoleBasedOperationConfig,
)
from pydantic_ai.tools import AgentDepsT, RunContext

from steadhold.kit.limits import ID_CHARS_MAX
from steadhold.sdk.job_shapes import Claimed

_NO_LETTER: Final = re.compile(r"[^A-Za-z0-9._:-]")
_RUNS: Final = ""
"""Under this name, which no operation has, runs are counted."""
_OWN_TOOLS: Final = "<agent>"
"""What Pydantic AI calls the tools that are the agent's own."""


class Context(Protocol):
    """What the handler of a job is given: `steadhold.worker.Context`."""

    @property
    def job(self) -> Claimed:
        """The job as it was claimed."""
        ...

    async def stage(self, name: str, fn: Callable[[], Awaitable[object]], /) -> object:
        """Run `fn` once and commit its result; the committed result from then on."""
        ...


@dataclass(frozen=True, slots=True)
class _Journal:
    """Where stages are counted: those of one run, and runs that begin in one place."""

    context: Context
    within: str = ""
    asked: Counter[str] = field(default_factory=Counter[str])

    def stage(self, name: str) -> str:
        """The next stage of this name."""
        self.asked[name] += 1
        return _id(f"{_spelled(name)}:{self.asked[name]}{self.within}")

    def run(self) -> _Journal:
        """Where the run counts that begins now; the first of a place counts there itself."""
        self.asked[_RUNS] += 1
        count = self.asked[_RUNS]
        return self if count == 1 else _Journal(self.context, f"{self.within}@{count}")

    def inside(self, stage: str) -> _Journal:
        """Where counts what a stage does."""
        return _Journal(self.context, f"@{stage}")


def _spelled(name: str) -> str:
    """A name in the letters of ids; no two are spelled alike."""
    return _NO_LETTER.sub(lambda found: f"~{ord(found[0]):x}~", name.replace(_OWN_TOOLS, "-agent-"))


def _id(name: str) -> str:
    if len(name) <= ID_CHARS_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: ID_CHARS_MAX - len(digest) - 2]}@@{digest}"


_JOURNAL: ContextVar[_Journal | None] = ContextVar("steadhold_journal", default=None)


@contextmanager
def durable(context: Context) -> Iterator[None]:
    """Agents with `SteadholdDurability` that run in this block, in a handler of this context, are durable.

    A handler that is run again comes to the same stages: what decides between two runs comes from the job's input.
    """
    with _counting(_Journal(context)):
        yield


@contextmanager
def _counting(journal: _Journal) -> Iterator[None]:
    token = _JOURNAL.set(journal)
    try:
        yield
    finally:
        _JOURNAL.reset(token)


class _Stages(JournalCallableOperationBackend[None]):
    """Each operation is a stage: done once it is committed, and answered from then on as it was."""

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: None,
    ) -> object:
        """Run the body as the next stage of its name, or answer what is committed of that."""
        del operation_id, cache_key, config
        journal = _JOURNAL.get()
        if journal is None:
            raise AssertionError("operations are durable in a block of `durable` only")
        stage = journal.stage(name)

        async def inside() -> object:
            with _counting(journal.inside(stage)):
                return await body()

        return await journal.context.stage(stage, inside)


@dataclass(init=False, kw_only=True)
class SteadholdDurability(BaseDurabilityCapability[AgentDepsT]):
    """Makes an agent durable in a job: `Agent(…, name="clerk", capabilities=[SteadholdDurability()])`.

    Outside a block of `durable` the agent runs as it would without. A tool that was running when its process died is
    run again: give what it does outside an identity that does not change. Tools run one by one.
    """

    engine_spec = DurabilityEngineSpec(
        engine_name="steadhold",
        durable_unit_noun="stage",
        durable_container_noun="job",
        codec=JSON_CODEC,
        unsupported_runtime_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
        sequential_tools_in_durable_context=True,
        journal_discovery=True,
    )

    @property
    def in_durable_context(self) -> bool:
        """Whether this is a block of `durable`."""
        return _JOURNAL.get() is not None

    def get_default_run_id(self) -> str | None:
        """The job's, and which of its runs this is."""
        journal = _JOURNAL.get()
        return None if journal is None else f"{journal.context.job.root_job_id}:{journal.stage('run')}"

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run with stages of its own."""
        journal = _JOURNAL.get()
        if journal is None:
            return await handler()
        with _counting(journal.run()):
            return await super().wrap_run(ctx, handler=handler)

    def get_durable_operation_backend(self) -> DurableOperationBackend[Any]:
        """Stages of the job."""
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        return _Stages(agent_name=self.name or "agent", config=config)
