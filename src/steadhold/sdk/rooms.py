"""The rooms of a client, each a file of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic

from steadhold.sdk.access import AuditRoom, EntitlementsRoom, KeysRoom, WorkspacesRoom
from steadhold.sdk.approvals import ApprovalsRoom
from steadhold.sdk.commits import CommitsRoom
from steadhold.sdk.context import ContextRoom
from steadhold.sdk.effects import EffectsRoom, JournalsRoom
from steadhold.sdk.events import AggregatesRoom, EventsRoom, SubscriptionsRoom
from steadhold.sdk.grammar import Mode, Player
from steadhold.sdk.inboxes import InboxesRoom
from steadhold.sdk.jobs import JobsRoom
from steadhold.sdk.locks import LocksRoom
from steadhold.sdk.operations import OperationsRoom
from steadhold.sdk.prefixes import PrefixesRoom
from steadhold.sdk.publications import PublicationsRoom
from steadhold.sdk.schedules import SchedulesRoom
from steadhold.sdk.state import StateRoom
from steadhold.sdk.webhooks import WebhooksRoom

if TYPE_CHECKING:
    from steadhold.envelopes import HighWater, Keyring
    from steadhold.kit.fields import FenceRef
    from steadhold.sdk.commits_noted import Commit
    from steadhold.sdk.memory import MemoryRoom
    from steadhold.sdk.private import Private


class Rooms(Player, Generic[Mode]):
    """What a client is a client of."""

    def __init__(self) -> None:
        self.state: StateRoom[Mode] = StateRoom(self)
        self.context: ContextRoom[Mode] = ContextRoom(self)
        self.prefixes: PrefixesRoom[Mode] = PrefixesRoom(self)
        self.jobs: JobsRoom[Mode] = JobsRoom(self)
        self.approvals: ApprovalsRoom[Mode] = ApprovalsRoom(self)
        self.effects: EffectsRoom[Mode] = EffectsRoom(self)
        self.journals: JournalsRoom[Mode] = JournalsRoom(self)
        self.schedules: SchedulesRoom[Mode] = SchedulesRoom(self)
        self.commits: CommitsRoom[Mode] = CommitsRoom(self)
        self.locks: LocksRoom[Mode] = LocksRoom(self)
        self.inboxes: InboxesRoom[Mode] = InboxesRoom(self)
        self.aggregates: AggregatesRoom[Mode] = AggregatesRoom(self)
        self.events: EventsRoom[Mode] = EventsRoom(self)
        self.subscriptions: SubscriptionsRoom[Mode] = SubscriptionsRoom(self)
        self.publications: PublicationsRoom[Mode] = PublicationsRoom(self)
        self.webhooks: WebhooksRoom[Mode] = WebhooksRoom(self)
        self.operations: OperationsRoom[Mode] = OperationsRoom(self)
        self.keys: KeysRoom[Mode] = KeysRoom(self)
        self.workspaces: WorkspacesRoom[Mode] = WorkspacesRoom(self)
        self.entitlements: EntitlementsRoom[Mode] = EntitlementsRoom(self)
        self.audit: AuditRoom[Mode] = AuditRoom(self)

    def private(
        self,
        keyring: Keyring,
        *,
        high_water: HighWater | None = None,
        workspace: str | None = None,
        pad: bool = False,
    ) -> Private[Mode]:
        """The rooms whose contents are sealed before they are sent, and opened when they come.

        `high_water` keeps what was seen, and finds out who shows something older. `workspace` is the one that envelopes
        are bound to; without it the server is asked, and believed. With `pad` what is written is filled up to one of
        few sizes first; what others wrote so is read in any case. Needs `steadhold[crypto]`.
        """
        from steadhold.sdk.private import Private

        return Private(self, keyring, high_water, workspace, pad=pad)

    def memory(self, prefix: str, *, root: str = "/memories", fences: Sequence[FenceRef] = ()) -> MemoryRoom[Mode]:
        """The commands of an agent's memory tool over the files under a prefix of context, shown as lying under `root`.

        What it writes is refused (`StaleFence`) once a grant in `fences` is not current, as a job's that is another's.

        Raises:
            ValueError: the prefix is no path of context, or `root` none that begins with /.
        """
        from steadhold.sdk.memory import MemoryRoom, drawer
        from steadhold.sdk.memory_text import Place

        return MemoryRoom(self, drawer(self.context, fences), Place(prefix, root))

    def commit(self, *, operation_id: str | None = None) -> Commit[Mode]:
        """Change several things together, all or nothing, in a `with` (or `async with`) block that notes them."""
        from steadhold.sdk.commits_noted import Commit

        return Commit(self, operation_id)
