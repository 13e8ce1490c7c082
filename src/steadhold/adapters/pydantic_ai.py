"""Pydantic AI: what an agent asks of models and tools becomes stages of a job, so that what was answered is kept.

`pip install 'steadhold[pydantic-ai]'`. A stage is named after the operation and how often that came before in the run.
Names are kept with jobs that are under way: they do not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationBackend,
    DurableOperationId,
    JournalCallableOperationBackend,
    RoleBasedOperationConfig,
)
from pydantic_ai.tools import AgentDepsT

from steadhold.sdk.job_shapes import Claimed

_NO_LETTER: Final = re.compile(r"[^A-Za-z0-9._~:@-]")


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
    context: Context
    asked: Counter[str] = field(default_factory=Counter[str])

    def stage(self, name: str) -> str:
        """The next stage of this name."""
        self.asked[name] += 1
        return f"{_NO_LETTER.sub('-', name)}:{self.asked[name]}"


_JOURNAL: ContextVar[_Journal | None] = ContextVar("steadhold_journal", default=None)


@contextmanager
def durable(context: Context) -> Iterator[None]:
    """Agents with `SteadholdDurability` that run in this block, in a handler of this context, are durable.

    A handler that is run again comes to the same stages: what decides between two runs comes from the job's input.
    """
    token = _JOURNAL.set(_Journal(context))
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
        return await journal.context.stage(journal.stage(name), body)


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

    def get_durable_operation_backend(self) -> DurableOperationBackend[Any]:
        """Stages of the job."""
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        return _Stages(agent_name=self.name or "agent", config=config)
