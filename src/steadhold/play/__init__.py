"""Players run plans on a connection: the only place that executes SQL for rooms."""
