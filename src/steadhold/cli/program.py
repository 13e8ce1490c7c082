"""The `steadhold` command and the list of what it can do."""

from __future__ import annotations

from typing import Final

import click

from steadhold.cli.lazy import Lazy

SECTIONS: Final = {
    "Run": {
        "dev": ("steadhold.cli.dev:dev", "Start everything on this machine, with a database of its own."),
        "serve": ("steadhold.cli.serve:serve", "Run a server on your database."),
        "work": ("steadhold.cli.work:work", "Run a worker: MODULE:WORKER."),
        "mcp": ("steadhold.cli.mcp:mcp", "The tools of an agent, over standard input and output."),
    },
    "Use": {
        "state": ("steadhold.cli.state:state", "Exact JSON under compare-and-swap."),
        "context": ("steadhold.cli.context:context", "Files of bytes with revisions."),
        "jobs": ("steadhold.cli.jobs:jobs", "Submit, watch and steer jobs."),
        "locks": ("steadhold.cli.locks:locks", "Who holds what, under which fence."),
        "lock": ("steadhold.cli.locks_run:lock", "Run a command while holding a lock."),
        "approvals": ("steadhold.cli.approvals:approvals", "People decide about an exact artifact."),
        "effects": ("steadhold.cli.effects:effects", "What left the building, and whether somebody has to look."),
        "schedules": ("steadhold.cli.schedules:schedules", "Jobs at their times, also after an outage."),
        "commit": ("steadhold.cli.commits:commit", "Several changes, all or nothing."),
        "inbox": ("steadhold.cli.inboxes:inbox", "Events in one order, read from any position."),
        "consumers": ("steadhold.cli.inboxes_consumers:consumers", "Who has come how far in an inbox."),
        "doors": ("steadhold.cli.inboxes_doors:doors", "Where third parties' webhooks come into an inbox."),
        "events": ("steadhold.cli.events:events", "Changes and their events in one transaction."),
        "subscriptions": ("steadhold.cli.events:subscriptions", "Which events go where."),
        "publications": ("steadhold.cli.events:publications", "What is on its way, and what does not get on."),
        "webhooks": ("steadhold.cli.webhooks:webhooks", "Events sent to an address."),
        "resend": ("steadhold.cli.webhooks:resend", "Send the event of a delivery again."),
        "listen": ("steadhold.cli.listen:listen", "Send events to an address of yours while you develop."),
        "trigger": ("steadhold.cli.webhooks:trigger", "Send a test event to webhooks."),
        "private": ("steadhold.cli.private:private", "Where nothing lies but what you sealed."),
        "keyring": ("steadhold.cli.private:keyring", "Files of the keys that seal and open."),
        "operations": ("steadhold.cli.operations:operations", "What became of a change whose answer was lost."),
    },
    "Administer": {
        "keys": ("steadhold.cli.keys:keys", "Who may do what in a workspace."),
        "workspaces": ("steadhold.cli.workspaces:workspaces", "Create and list workspaces."),
        "migrate": ("steadhold.cli.migrate:migrate", "Bring a database's schema up to date."),
        "doctor": ("steadhold.cli.doctor:doctor", "Examine a database, and say what to do."),
        "consumer-table": (
            "steadhold.cli.inboxes_table:consumer_table",
            "Print the table in which a consumer keeps what it applied.",
        ),
        "restored": ("steadhold.cli.restored:restored", "Tell steadhold that a backup was put back."),
        "telemetry": ("steadhold.cli.telemetry:telemetry", "A dashboard for Grafana, alert rules for Prometheus."),
        "config": ("steadhold.cli.config:config", "Show settings, and where each came from."),
        "version": ("steadhold.cli.version:version", "Show versions."),
    },
}

EPILOG: Final = (
    "Commands that ask a server read STEADHOLD_URL and STEADHOLD_API_KEY. "
    "Off a terminal they print JSON lines. Exit codes are listed in docs/cli.md."
)


@click.group(
    cls=Lazy, sections=SECTIONS, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)  # fmt: skip
@click.version_option(package_name="steadhold", message="%(prog)s %(version)s")
def program() -> None:
    """Durable coordination on PostgreSQL: jobs, leases, fences, exact state, a receipt for every lost answer."""
