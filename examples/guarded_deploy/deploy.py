"""Deploy one version after another, never two at once, and never by one who was replaced.

    python deploy.py v42

Whoever deploys holds the lock `deploy`. Every change carries its fence: a deployer that was paused, and wakes up after
somebody else took over, is refused by each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from steadhold import Client
from steadhold.sdk.errors import LockHeld, LockLost, StaleFence

STEPS = ("built", "copied", "switched")


def deploy(
    client: Client, version: str, *, ttl: float = 30.0, wait_seconds: float | None = None,
    between: Callable[[str], None] = lambda _step: None,
) -> int:  # fmt: skip
    """Deploy a version, and answer the fence under which it was done.

    Raises:
        LockHeld: others deployed for longer than `wait_seconds`. LockLost, StaleFence: we were replaced.
    """
    with client.locks.hold("deploy", ttl=ttl, wait_seconds=wait_seconds) as lock:
        for step in STEPS:
            between(step)  # the work: build, copy, switch
            lock.ensure_held()
            told = {"version": version, "step": step, "fence": lock.fence}
            client.state.update("deploy/current", lambda _before, told=told: told, create=told, fences=[lock.grant])
        return lock.fence


def main() -> int:
    """Deploy the version that the command line names."""
    if len(sys.argv) != 2:
        print("Say which version: python deploy.py v42")
        return 2
    try:
        with Client() as client:
            fence = deploy(client, sys.argv[1], wait_seconds=60)
    except LockHeld as held:
        print(f"{held.holder} is deploying; nothing was done.")
        return 3
    except (LockLost, StaleFence) as lost:
        print(f"Replaced half way; whoever took over goes on: {lost}")
        return 10
    print(f"{sys.argv[1]} is deployed, under fence {fence}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
