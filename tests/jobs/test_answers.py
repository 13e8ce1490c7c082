"""Every refusal of jobs is a problem, alone or as one of many."""

from __future__ import annotations

from typing import get_args

import pytest

from steadhold.jobs import admission, answers, plans, settling, steering
from steadhold.kit.plan import Refusal

OUTCOMES = (
    admission.SubmitOutcome,
    plans.CheckpointOutcome,
    settling.SettleOutcome,
    steering.BulkOutcome,
    steering.CancelOutcome,
    steering.RetryOutcome,
    steering.SignalOutcome,
)
REFUSALS = {kind for outcome in OUTCOMES for kind in get_args(outcome) if issubclass(kind, Refusal)}


@pytest.mark.parametrize("kind", sorted(REFUSALS, key=lambda kind: kind.__name__))
def test_every_refusal_is_told(kind):
    assert kind in answers._SAID
