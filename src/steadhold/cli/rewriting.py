"""`steadhold state update`: a command decides what a name holds next, as often as somebody else wrote first."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steadhold.cli.exits import Said
from steadhold.sdk.errors import NotFound, OperationNotCommitted, RevisionConflict

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One update. Under an `operation_id` that has committed before, it answers that receipt and writes nothing."""

    client: Client
    name: str
    command: str
    create: str | None
    operation_id: str | None

    def within(self, tries: int) -> Any:
        """Write once, deciding anew while others write first. Raises RevisionConflict when the tries are used up."""
        if self.operation_id is not None:
            try:
                return self.client.operations.get(self.operation_id)
            except OperationNotCommitted:
                pass
        for left in reversed(range(tries)):
            try:
                return self._once()
            except RevisionConflict:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def _once(self) -> Any:
        try:
            before = self.client.state.get(self.name)
        except NotFound:
            if self.create is None:
                raise
            data = self._decided(os.fsencode(self.create))
            return self.client.state.create(self.name, raw=data, operation_id=self.operation_id)
        return self.client.state.put(
            self.name, raw=self._decided(before.raw), if_revision=before.revision, operation_id=self.operation_id
        )

    def _decided(self, value: bytes) -> bytes:
        ran = subprocess.run(["/bin/sh", "-c", self.command], input=value, stdout=subprocess.PIPE, check=False)
        if ran.returncode:
            raise Said(f"The command ended with {ran.returncode}, so nothing was written: {self.command}")
        return ran.stdout
