"""Where events leave to the world outside: sinks that an operator set up, each of one workspace."""

from __future__ import annotations

from steadhold.sinks.sending import Publishes, Sinks
from steadhold.sinks.sink import Sink, SinkFault, read_sinks

__all__ = ["Publishes", "Sink", "SinkFault", "Sinks", "read_sinks"]
