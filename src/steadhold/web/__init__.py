"""The HTTP grammar, spoken once for all rooms."""
