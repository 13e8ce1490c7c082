"""webhooks: at least once, signed, replayable, honest."""
