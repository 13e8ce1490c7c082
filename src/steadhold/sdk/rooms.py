"""The rooms of a client, each a file of this folder."""

from __future__ import annotations

from typing import Any, Generic

from steadhold.sdk.access import AuditRoom, EntitlementsRoom, KeysRoom, WorkspacesRoom
from steadhold.sdk.grammar import Mode, Script, Stream
from steadhold.sdk.jobs import JobsRoom
from steadhold.sdk.operations import OperationsRoom
from steadhold.sdk.schedules import SchedulesRoom
from steadhold.sdk.state import StateRoom


class Rooms(Generic[Mode]):
    """What a client is a client of."""

    def __init__(self) -> None:
        self.state: StateRoom[Mode] = StateRoom(self)
        self.jobs: JobsRoom[Mode] = JobsRoom(self)
        self.schedules: SchedulesRoom[Mode] = SchedulesRoom(self)
        self.operations: OperationsRoom[Mode] = OperationsRoom(self)
        self.keys: KeysRoom[Mode] = KeysRoom(self)
        self.workspaces: WorkspacesRoom[Mode] = WorkspacesRoom(self)
        self.entitlements: EntitlementsRoom[Mode] = EntitlementsRoom(self)
        self.audit: AuditRoom[Mode] = AuditRoom(self)

    def play(self, script: Script[Any]) -> Any:
        """Answer what a script comes to."""
        raise NotImplementedError

    def flow(self, stream: Stream[Any]) -> Any:
        """Iterate over what a stream gives."""
        raise NotImplementedError
