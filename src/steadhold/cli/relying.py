"""Changes that rely on grants: `--fence lock:deploy=3`, once for each grant that has to be current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Script, Send, Stream, Sync
from steadhold.sdk.rooms import Rooms

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


class Relying(Rooms[Sync]):
    """The rooms of a client, each of whose changes names these grants besides its own."""

    def __init__(self, client: Client, grants: Sequence[FenceRef]) -> None:
        super().__init__()
        self._client, self._field = client, fields.write_fences(grants)

    def play(self, script: Script[Any]) -> Any:
        """Answer what a script comes to."""
        return self._client.play(self._named(script))

    def flow(self, stream: Stream[Any]) -> Any:
        """Iterate over what a stream gives: streams change nothing."""
        return self._client.flow(stream)

    def _named(self, script: Script[Any]) -> Script[Any]:
        try:
            step = next(script)
            while True:
                if isinstance(step, Send) and step.identity != "reading":
                    named = ", ".join(filter(None, [step.headers.get("fence"), self._field]))
                    step = replace(step, headers={**step.headers, "fence": named})
                try:
                    got = yield step
                except Exception as error:  # noqa: BLE001 - it is the script's to judge
                    step = script.throw(error)
                else:
                    step = script.send(got)
        except StopIteration as end:
            return end.value
        finally:
            script.close()
