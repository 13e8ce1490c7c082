"""Taste that a machine can hold: each check reads a tree and yields a sentence for every breach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tools.tidy import documented, lock, shape, statements, words
from tools.tidy.tree import Tree

Check = Callable[[Tree], Iterator[str]]

CHECKS: Final[dict[str, Check]] = {
    check.__name__: check
    for check in (
        *(shape.short_functions, shape.short_files, shape.room_files, shape.promised),
        *(shape.no_clock, shape.no_new_ids, shape.no_sql_clock),
        *(statements.sql_names, statements.short_statements, statements.cast, statements.confined),
        *(statements.led_by_workspace, statements.enclosed),
        *(documented.limits, documented.codes, documented.known_codes, documented.settings),
        *(documented.metrics, documented.events, documented.states),
        *(words.vague_names, words.plain_prose, words.nothing_left, words.no_machine, words.no_hosts),
        *(words.one_title, words.tests_prove, words.tests_wait, words.tests_run),
        lock.locked,
    )
}
