"""Properties are judged by their answers: on a busy machine an example may take its time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", settings(), deadline=None)
settings.load_profile("patient")
