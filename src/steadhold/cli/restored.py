"""`steadhold restored`: after a backup was put back, numbers that may have been lost are never issued again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from steadhold.cli.database import at_database
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.db.house import House


@click.command()
@printed
@at_database
def restored(dsn: str, out: Out) -> None:
    """Tell steadhold that a backup or snapshot was put back: it begins a new incarnation.

    Run it once after each restore, before servers are started. Revisions and fences that were issued after the backup
    was taken, and are unknown to it, are then never issued again. It needs the schema's owner.
    """
    import asyncio

    house = asyncio.run(_begun(dsn))
    out.one({"incarnation": house.incarnation, "began_at": house.began_at})


async def _begun(dsn: str) -> House:
    import asyncpg

    from steadhold.db.errors import HouseError
    from steadhold.db.house import UNREADY, restored

    conn = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        return await restored(conn)
    except UNREADY as error:
        raise HouseError("The database has no steadhold schema, or an older one. Run: steadhold migrate") from error
    finally:
        await conn.close()
