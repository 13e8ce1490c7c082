"""A worker of the fleet, in a process of its own. Stages note outside, line by line, each time that they act."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import secrets
import sys
import threading

from steadhold.worker import Worker

STAGES = 3
NOTES = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
LOCK = threading.Lock()
TOLD = {"worker.started", "job.settled", "settle.refused", "lease.lost"}


def note(what, **facts):
    os.write(NOTES, json.dumps({"what": what, **facts}).encode() + b"\n")


def tell(name, **facts):
    if name in TOLD:
        with LOCK:
            sys.stdout.write(json.dumps({"name": name, **facts}) + "\n")
            sys.stdout.flush()


PLACES = {"concurrency": 16, "prefetch": 16, "drain_seconds": 5}
worker = Worker(**PLACES | json.loads(os.environ["PLACE"]), on=tell)


@worker.job("chaos")
async def chaos(ctx, n):
    """Each stage makes a token that nobody can make again; the result is all tokens."""
    tokens = []
    for stage in range(STAGES):

        async def act(stage=stage):
            token = secrets.token_hex(8)
            note("act", n=n, stage=stage, fence=ctx.fence, token=token)
            await asyncio.to_thread(
                hashlib.pbkdf2_hmac, "sha256", b"", b"", random.randrange(1, 20_000)
            )  # the work itself
            return token

        token = await ctx.stage(f"s{stage}", act)
        note("seen", n=n, stage=stage, fence=ctx.fence, token=token)
        tokens.append(token)
    return tokens


@worker.job("gated")
async def gated(ctx, gate):
    """A stage that ends when a file is there."""

    async def act():
        note("act", n=0, stage=0, fence=ctx.fence, token="t")
        while not await asyncio.to_thread(os.path.exists, gate):
            pass
        return "t"

    return [await ctx.stage("s0", act)]


if __name__ == "__main__":
    sys.exit(worker.run())
