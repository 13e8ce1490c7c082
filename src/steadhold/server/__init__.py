"""The server: it mounts every room's doors on a database, runs their duties, and says how it is."""
