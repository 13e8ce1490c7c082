"""A worker in a process of its own. What happens to it stands on its standard output, a JSON line each."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import uuid
from pathlib import Path

from steadhold.worker import Worker

LOCK = threading.Lock()


def tell(name, **facts):
    with LOCK:
        sys.stdout.write(json.dumps({"name": name, **facts}) + "\n")
        sys.stdout.flush()


worker = Worker(**json.loads(os.environ["PLACE"]), on=tell, **json.loads(os.environ.get("OPTIONS", "{}")))


def chunk(log, n):
    with Path(log).open("a") as file:
        file.write(f"{n}\n")
    return n * n


@worker.job("chunks")
async def chunks(ctx, input):
    """Each chunk leaves a line in a file outside, and its square as a checkpoint."""
    return sum([await ctx.stage(f"chunk-{n}", chunk, input["log"], n) for n in range(input["chunks"])])


@worker.job("steps")
async def steps(ctx, input):
    """Two stages that come out differently whenever they are run."""
    return [await ctx.stage("one", uuid4), await ctx.stage("two", uuid4)]


def uuid4():
    return str(uuid.uuid4())


@worker.job("charge")
async def charge(ctx, input):
    """An action outside, which leaves a line there each time that it is called."""
    async with ctx.effect(
        "charge", key="7", request=input, amount="12.50", currency="EUR", **input["options"]
    ) as effect:
        return await effect.call(chunk, input["log"], 7)


@worker.job("forever")
async def forever(ctx, input):
    while True:
        await ctx.stage(f"round-{ctx.fence}", int)
        await asyncio.Event().wait()


if __name__ == "__main__":
    worker.run()
    sys.exit(0)
