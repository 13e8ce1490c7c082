"""Every verb that changes something can name grants that have to be current, wherever its route takes them."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import pkgutil
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

import steadhold.sdk
from steadhold.envelopes import Bound, Keyring, seal
from steadhold.kit.fields import FenceRef
from steadhold.kit.sealed import MEDIA_TYPE
from steadhold.sdk import Client, memory, private_context
from steadhold.sdk.approvals_shapes import Artifact
from steadhold.sdk.errors import NotFound, Said
from steadhold.sdk.events_shapes import NewEvent
from steadhold.sdk.grammar import Got, Room, Send, verb
from steadhold.sdk.inboxes_consuming import Delivery, Removed

GRANT = FenceRef("lock:a", 3)
FIELD = '"lock:a";fence=3'
DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
METHODS = {"put", "post", "patch", "delete"}
FOREIGN = {"post /v1/in/{token}"}
"""What third parties ask, and no client."""
HASH = f"sha256:{'0' * 64}"
NOW = datetime.now(UTC)
OLD = Keyring.generate()
KEYS = OLD.rotated()
SEEN = Artifact("r", "1", HASH)
GIVEN = {
    "fn": lambda value: value, "archive": b"", "source": io.BytesIO(b"x"), "body": b"x", "raw": b"{}", "data": b"x",
    "if_revision": 1, "fence": 3, "sequence": 1, "start": NOW, "end": NOW, "since": NOW, "jobs": [], "items": [],
    "types": ["t"], "scopes": ["state:read"], "filter": {}, "artifact": SEEN, "kind": "state", "configuration": {},
    "entitlements": {}, "grants": [], "awaited": {"timer": 1}, "target": {"inbox": "i"}, "seen": SEEN, "edges": [],
    "events": [NewEvent(type="t", data=1)], "spec": {}, "event": {"name": "i", "type": "t"}, "states": ["a"],
}  # fmt: skip
"""What a parameter of a name is given, where it has to be given something; else a text."""
VALUE = {"value": 1}
MORE = {
    "ContextRoom.move": ({"source": "a", "target": "b"},),
    "InboxRoom.append": ({"data": 1},),
    "StateRoom.put": (VALUE,), "StateRoom.create": (VALUE,), "StateRoom.update": ({"create": 1},),
    "PrivateStateRoom.put": (VALUE,), "PrivateStateRoom.create": (VALUE,), "PrivateStateRoom.update": ({"create": 1},),
    "ContextRoom.edit": ({"create": b""},), "PrivateContextRoom.edit": ({"create": b""},),
    "PrefixesRoom.make": ({}, {"kind": "context"}), "PrefixesRoom.lift": ({}, {"kind": "context"}),
}  # fmt: skip
"""What single verbs are given besides, once for each."""
WITHOUT = {"WorkspacesRoom.create"}
"""Whose route takes none: a workspace that is not there holds no grants."""


def rooms():
    """A room of each kind, as a client has them."""
    client = Client("http://h", "k")
    private, inbox = client.private(KEYS, workspace="w"), client.inboxes["i"]
    consumer, event, gap = inbox.consumer("c"), SimpleNamespace(sequence=1), SimpleNamespace(to_sequence=2)
    made = [
        *vars(client).values(), inbox, inbox.doors, consumer, Delivery(consumer, "e", event),
        Removed(consumer, "e", gap), private.state, private.context, client.memory("m"),
    ]  # fmt: skip
    return [room for room in made if isinstance(room, Room)]


def verbs():
    """Every verb of every room, by its name."""
    made = rooms()
    for module in pkgutil.walk_packages(steadhold.sdk.__path__, "steadhold.sdk."):
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind) and issubclass(kind, Room) and kind.__module__ == module.name:
                room = next((one for one in made if isinstance(one, kind)), None)
                named = ((f"{kind.__name__}.{name}", one) for name, one in vars(kind).items() if isinstance(one, verb))
                yield from ((name, room, one.script) for name, one in named)


def called(room, script, **more):
    """The script of a verb, given what it needs, and a grant where it takes any."""
    said = dict(more)
    for one in list(inspect.signature(script).parameters.values())[1:]:
        if one.name == "fences":
            said["fences"] = [GRANT]
        elif one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_KEYWORD:
            said.setdefault(one.name, GIVEN.get(one.name, "a"))
    return script(room, **said)


def change_of(script):
    """The first request of a script that is no reading; None without one. Names hold nothing, or an old envelope."""
    try:
        step = next(script)
        while step.method == "GET":
            step = script.send(envelope(step)) if "rewrap" in script.__qualname__ else script.throw(absent())
        return step if isinstance(step, Send) else None
    except (StopIteration, NotFound):
        return None
    finally:
        script.close()


def absent():
    return NotFound(Said(404, "not_found"))


def envelope(asked):
    """What a name holds that was sealed with the key before."""
    kind = asked.target.split("/")[2]
    bound = Bound(workspace="w", kind=kind, name="a", content_type="application/json", revision=1)
    return Got(200, {"revision": "1", "content-type": MEDIA_TYPE}, seal(OLD, bound, b"1"))


def route_of(send):
    """The method and path of the document that a request goes to."""
    method, path = send.method.lower(), send.target.partition("?")[0]
    for template, methods in DOCUMENT["paths"].items():
        if method in methods and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            return f"{method} {template}"
    raise AssertionError(f"no route takes {send.method} {path}")


def taking():
    """The routes that change something, and whether they take grants."""
    for path, methods in DOCUMENT["paths"].items():
        for method in METHODS & {*methods}:
            names = [one.get("name") for one in methods[method].get("parameters", [])]
            yield f"{method} {path}", "Fence" in names


def walked():
    """Of each verb that changes something the route that it asks, and the grants that it names.

    What commands of a memory write goes through its drawer, which is looked at by itself.
    """
    for name, room, script in verbs():
        assert room is not None, f"{name}: rooms() makes none of its kind"
        for more in () if isinstance(room, memory.MemoryRoom) else MORE.get(name, ({},)):
            if (send := change_of(called(room, script, **more))) is not None:
                yield name, route_of(send), send.headers.get("fence")


def test_every_change_names_its_grants_where_its_route_takes_them():
    takes, found = dict(taking()), list(walked())
    assert {name for name, route, field in found if (field == FIELD) != takes[route]} == set()
    assert {name for name, route, _ in found if not takes[route]} == WITHOUT
    assert {route for route in takes if route not in FOREIGN} - {route for _, route, _ in found} == set()
    assert len(found) >= 90


def test_a_verb_that_takes_grants_changes_something():
    changing = {name for name, _, _ in walked()}
    takers = {name for name, _, script in verbs() if "fences" in inspect.signature(script).parameters}
    assert takers - changing == set()


@pytest.mark.parametrize("room", ["context", "private"])
def test_what_a_memory_writes_relies_on_its_grants(room):
    client = Client("http://h", "k")
    if room == "context":
        drawer = memory.drawer(client.context, [GRANT])
    else:
        drawer = private_context.drawer(client.private(KEYS, workspace="w").context, [GRANT])
    scripts = [drawer.write("a", b"x", None, "text/plain"), drawer.delete("a", 1)]
    scripts += [] if drawer.move is None else [drawer.move("a", "b", 1)]
    assert [next(script).headers["fence"] for script in scripts] == [FIELD] * len(scripts)
