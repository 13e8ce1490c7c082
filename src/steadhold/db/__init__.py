"""The database under the house: embedded PostgreSQL, pool, migrations, incarnation, doctor."""
