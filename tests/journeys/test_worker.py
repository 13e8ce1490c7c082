"""Ten thousand jobs while their workers are killed and halted: none is lost, none done twice, no stage replaced."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter, defaultdict

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from steadhold.server.app import App
from steadhold.server.settings import Settings
from steadhold.testing import Probe
from tests.worker.children import Child

JOBS = 10_000
BLOWS = 12
WORKERS = 3
OPTIONS = {"lease_seconds": 1, "concurrency": 20, "prefetch": 0}
HISTORY = """
    select aggregate_id, type, (convert_from(data, 'utf8')::json->>'fence')::bigint
    from steadhold.events where workspace = $1 order by aggregate_id, aggregate_revision
"""
STAGES = (
    "select 'job:' || job, stage, fence, convert_from(result, 'utf8') from steadhold.checkpoints where workspace = $1"
)
RESULTS = "select 'job:' || id, state, convert_from(result, 'utf8') from steadhold.jobs where workspace = $1"
LEFT = "select exists (select from steadhold.jobs where workspace = $1 and state + 0 < 3)"


class Crew:
    """Workers that come and go."""

    def __init__(self, place, seed):
        self.place, self.chance, self.probe = place, random.Random(seed), Probe()
        self.workers = [self.hire() for _ in range(WORKERS)]
        self.halted, self.gone = [], []

    def hire(self):
        return Child(self.place, OPTIONS, probe=self.probe)

    def strike(self):
        """Kill one, or halt one until the next blow; another takes its place."""
        for child in self.halted:
            child.signal(signal.SIGCONT)
        self.workers += self.halted
        victim = self.workers.pop(self.chance.randrange(len(self.workers)))
        kill = self.chance.random() < 0.6
        victim.signal(signal.SIGKILL if kill else signal.SIGSTOP)
        self.gone += [victim] if kill else []
        self.halted = [] if kill else [victim]
        while len(self.workers) < WORKERS:
            self.workers.append(self.hire())

    async def dismiss(self):
        for child in (*self.workers, *self.halted):
            child.signal(signal.SIGKILL)
        for child in (*self.workers, *self.halted, *self.gone):
            await child.ended()
            child.process.stdout.close()


@pytest.mark.timeout(600)
async def test_ten_thousand_jobs_outlive_their_workers(fresh_database):
    workspace = fresh_database.new_workspace()
    app = App(Settings(database_url=fresh_database.dsn))
    await app.start()  # its loops find what lapsed
    crew = Crew({"dsn": fresh_database.dsn, "workspace": workspace}, seed=7)
    try:
        async with Pool(fresh_database.dsn, size=2) as pool:
            for _ in range(JOBS // 500):
                submissions = [jobs.Submission("steps") for _ in range(500)]
                await Single(pool).play(jobs.submit_all.call(workspace, submissions))
            for blow in range(BLOWS):
                await crew.probe.seen("job.settled", times=(blow + 1) * JOBS // (BLOWS + 2), within_seconds=300)
                crew.strike()
            async with pool.connection() as conn:
                while await conn.fetchval(LEFT, workspace):
                    await asyncio.sleep(0)
                history = await conn.fetch(HISTORY, workspace)
                stages = await conn.fetch(STAGES, workspace)
                results = await conn.fetch(RESULTS, workspace)
    finally:
        await crew.dismiss()
        await app.stop()
    check_histories(history, stages, results, crew.probe)


def check_histories(history, stages, results, probe):
    assert Counter(state for _, state, _ in results) == {3: JOBS}
    assert Counter(Counter(job for job, type, _ in history if type == "job.completed").values()) == {1: JOBS}
    runs = defaultdict(list)
    for job, type, fence in history:
        if type == "job.running":
            runs[job].append(fence)
    assert all(fences == sorted(set(fences)) for fences in runs.values())
    assert sum(len(fences) > 1 for fences in runs.values()) >= BLOWS  # some were run again, or nothing was shown
    kept = {(job, stage): (fence, result) for job, stage, fence, result in stages}
    for moment in probe.moments:
        if moment.name == "stage.committed":
            fence, _ = kept["job:" + moment.facts["job_id"], moment.facts["stage"]]
            assert fence == moment.facts["fence"]  # what was said to be committed is what is kept
    for job, _, result in results:
        assert result == f"[{kept[job, 'one'][1]},{kept[job, 'two'][1]}]"
