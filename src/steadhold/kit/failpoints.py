"""Named moments at which a process can be made to fail. Armed by the environment, off by default.

`STEADHOLD_FAILPOINTS="before_commit=kill,operations.seal=raise"` arms two. The moments are
`received`, `tx_begun`, the name of each statement (after it was executed), `before_commit`,
`after_commit`, `reply_half_sent`, and those that a loop or worker names. A statement that is a transaction
by itself has `alone` before it and `alone_committed` after it; while another moment is armed, none goes alone.
The actions: `kill` ends the process with SIGKILL, `raise` raises `FailpointReached`, `stop` halts it with SIGSTOP,
once. A number after the action counts how often the moment passes first: `state.write=kill:3` fails at the fourth time.
"""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "STEADHOLD_FAILPOINTS"


class FailpointReached(RuntimeError):
    """An armed failpoint with the action `raise` was reached."""


def _parse(spec: str) -> dict[str, tuple[str, int]]:
    armed: dict[str, tuple[str, int]] = {}
    for part in filter(None, spec.split(",")):
        moment, _, action = part.partition("=")
        action, _, passes = action.partition(":")
        if action not in ("kill", "raise", "stop"):
            raise ValueError(f"{VARIABLE}: {part!r} should read MOMENT=kill, =raise or =stop, with :N to pass N times")
        armed[moment.strip()] = (action, int(passes or 0))
    return armed


armed: dict[str, tuple[str, int]] = _parse(os.environ.get(VARIABLE, ""))


def arm(spec: str) -> None:
    """Arm in this process what the environment variable would; the empty string disarms all."""
    armed.clear()
    armed.update(_parse(spec))


def hit(moment: str) -> None:
    """Fail here if this moment is armed."""
    if moment not in armed:
        return
    action, passes = armed[moment]
    if passes:
        armed[moment] = (action, passes - 1)
        return
    if action == "raise":
        raise FailpointReached(moment)
    del armed[moment]
    os.kill(os.getpid(), signal.SIGKILL if action == "kill" else signal.SIGSTOP)
