"""A relay in a process of its own, so that it can die: it publishes to a file, a line for each event, and to inboxes.

python publishing.py DSN WORKSPACE FILE ROUNDS
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from steadhold import inboxes
from steadhold.db.pool import Pool
from steadhold.events import Taken, relaying
from steadhold.events.flow import Inside, Outside
from steadhold.events.loops import Relay
from steadhold.play.single import OutcomeUnknown, Single, Unavailable


def written(file, batch):
    with Path(file).open("a") as out:
        out.writelines(f"{one.event.aggregate_id} {one.event.aggregate_revision}\n" for one in batch)
    return [Taken() for _ in batch]


async def main(dsn, workspace, file, rounds):
    async def publish(_workspace, _name, batch):
        return written(file, batch)

    async with Pool(dsn, size=4) as pool:
        play = Single(pool).play
        relay = Relay(play, {"sink": Outside(publish), "inbox": Inside(inboxes.publish)}, name="relay")
        for _ in range(int(rounds)):
            with suppress(Unavailable, OutcomeUnknown):  # who was stopped in a transaction finds it ended
                while await play(relaying.match.call(workspace, 7)):
                    pass
                await relay.publish(workspace)
            with suppress(Unavailable, OutcomeUnknown):
                await relay.idle()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
