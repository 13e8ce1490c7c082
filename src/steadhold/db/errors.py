"""What the database rooms raise: each message is a sentence that says what to do next."""

from __future__ import annotations


class DatabaseError(Exception):
    """The database cannot be used as it is; the message says why and what to do."""


class EmbeddedError(DatabaseError):
    """Embedded PostgreSQL could not be found, prepared, started or stopped."""


class MigrationError(DatabaseError):
    """The schema cannot be brought to this program's version; nothing of the failing file stands."""


class HouseError(DatabaseError):
    """The connection leads to a database that steadhold cannot work on: no schema, no rights, or a standby."""


class StandbyError(HouseError):
    """The server replays another's log and takes no writes; it may be promoted in a moment."""


class StatementsLostError(DatabaseError):
    """A pooler lends backends that do not know what this connection prepared, or know another's by its name."""

    sqlstate = "26000"

    def __init__(self) -> None:
        super().__init__(
            "A pooler between here and PostgreSQL loses prepared statements. Set prepared_statements to 0 "
            "(STEADHOLD_PREPARED_STATEMENTS, --prepared-statements), or let it keep them: PgBouncer 1.21 or later with "
            "max_prepared_statements = 200."
        )
