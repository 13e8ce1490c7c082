"""No function of the database reads tables without anybody having asked what it reads there."""

from __future__ import annotations

BY_KEY = {
    "add_to_meters", "append_event", "events_wanted", "find_door", "find_key", "forget_events", "held_inboxes",
    "hold_reference", "house_stands", "known_keys", "let_in", "pin_reference", "private_names", "raise_event_horizon",
    "referred_to", "tell_event", "trace_of", "unpin_references", "want_events",
}  # fmt: skip
"""What reads rows of which it is told the keys, or of which a workspace has few: takers of events, private prefixes."""

OF_THE_HOUSE = {"begin_incarnation", "check_house", "restored", "soon"}
"""What reads one row, or one of each workspace."""

SO_MANY = {
    "event_flow", "house_gauges", "job_gauges", "oldest_ready", "purge_events", "purge_operations", "workspaces_after",
}  # fmt: skip
"""What walks an index and is told how many it may read."""

FOR_OLDER = {"ready_keys"}
"""What servers of the release before ask: it reads all that is due (decision 0038)."""

COUNTS = {"used_context", "used_jobs", "used_state", "used_webhooks"}
"""What counts all of one workspace, where it is asked how much that uses."""

READS = r"\y(from|join|into|update|using)\s+steadhold\.\w+(?!\w*\()"
FOUND = f"""
select proname from pg_proc
where pronamespace = 'steadhold'::regnamespace and proname !~ '^due(_|$)' and prosrc ~* '{READS}'
"""


def test_each_function_that_reads_is_known(conn):
    """Look at the plan of a new one beside a crowd, set as a session of ours is, and say here what it is.

    What looks for what is due has a test of its own (test_due).
    """
    found = {name for (name,) in conn.execute(FOUND).fetchall()}
    assert found == BY_KEY | OF_THE_HOUSE | SO_MANY | FOR_OLDER | COUNTS
