"""Fixtures of the clients in other languages."""

from __future__ import annotations

import pytest

from tests.clients.typescript import Folder, modules_of
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def modules(request):
    return modules_of(request.config)


@pytest.fixture(scope="session")
def built(tmp_path_factory, modules):
    """The client, compiled; of an example that finds its name taken, too."""
    folder = Folder(tmp_path_factory.mktemp("client") / "typescript", modules)
    again = folder.copied("example.ts", "again.ts")
    again.change("orders/${crypto.randomUUID()}", "taken")
    ran = folder.compile("--outDir", "dist")
    assert (ran.returncode, ran.stdout) == (0, "")
    return folder
