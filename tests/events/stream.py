"""Events, subscriptions and relays of one workspace, with a target that remembers what it was asked."""

from __future__ import annotations

from steadhold import events
from steadhold.events import Happened, Spec, Taken, flow, relaying
from steadhold.events.flow import Outside
from steadhold.events.loops import Relay

MANY = 2 * relaying.EACH + 5
"""More of an aggregate than a claim takes, or two."""

TYPES = ("a*", "b*", "job.*", "order.*", "t*", "x*")
"""All that happens in these tests, but for what tells of the subscriptions themselves."""


class Sink:
    """A target outside. `says` answers for one publication; what was asked is kept."""

    def __init__(self):
        self.asked, self.says = [], lambda _one: Taken()

    async def publish(self, _workspace, _name, batch):
        self.asked += [(one.event.aggregate_id, one.event.aggregate_revision) for one in batch]
        return [self.says(one) for one in batch]


class Flow:
    """Events, subscriptions and relays of one workspace."""

    def __init__(self, player, workspace):
        self.player, self.workspace, self.sink = player, workspace, Sink()
        self.relay = self.another("one")

    def another(self, name, **targets):
        found = {"sink": Outside(self.sink.publish, seconds=0.2), **targets}
        return Relay(self.player.play, found, name=name)

    async def __call__(self, verb, *args, **kw):
        return await self.player.play(verb.call(self.workspace, *args, **kw))

    async def subscribe(self, id="s", target="sink:x", **kw):
        made = await self(events.subscribe, id, Spec(TYPES, target, **kw), None)
        assert isinstance(made, flow.Subscribed)
        await self.match()  # what is told of the subscription itself is out of the way

    async def happen(self, aggregate, count=1, expected=None):
        made = await self(events.append, aggregate, expected, [Happened("a") for _ in range(count)])
        return made.revision

    async def match(self):
        return await self(relaying.match, 1_000)

    async def publish(self, relay=None):
        relay = relay or self.relay
        return await relay.publish(self.workspace) + await relay.idle()

    async def published(self):
        """What revisions are published as long as something has its turn: each time, some leave or are set apart."""
        for _ in range(50):
            if not await self(relaying.lanes):
                return [revision for _, revision in self.sink.asked]
            await self.publish()
        raise AssertionError("a lane stays in which nothing is done")

    async def listed(self, state):
        return await self(events.publications, state, None, 1_000)
