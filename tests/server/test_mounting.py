"""What frameworks make of an address, and what a page about them shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import httpx2
import pytest

import steadhold
from steadhold.server import mounting
from steadhold.server.sources import SettingError
from tests.server.frameworks import OWN, configured, living

PAGE = (Path(__file__).parents[2] / "docs/mounted.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^## (\w+)$.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.docs
@pytest.mark.parametrize(("framework", "program"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
async def test_what_the_page_shows_is_mounted(framework, program, dsn):
    configured()
    names = {"dsn": dsn}
    exec(compile(program, framework, "exec"), names)
    async with living(names["app"]) as app:
        assert names["house"].engine is not None
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as http:
            assert (await http.get("/steadhold/readyz")).json()["ready"]
            assert (await http.get("/steadhold/v1/state/a")).json()["code"] == "no_valid_key"
            assert (await http.get("/own")).text == OWN or framework != "Django"


def test_the_page_has_a_program_for_each():
    assert [name for name, _ in PROGRAMS] == ["FastAPI", "Starlette", "Litestar", "Django"]
    assert PAGE.count("```python\n") == len(PROGRAMS)


def test_it_is_made_by_the_names_of_settings(dsn):
    house = steadhold.asgi(database_url=dsn, background=False)
    assert (house.settings.database_url, house.settings.background) == (dsn, False)
    assert steadhold.asgi(house.settings).settings is house.settings
    with pytest.raises(SettingError, match="database_url"):
        steadhold.asgi(databse_url=dsn)
    with pytest.raises(SettingError, match="pool_size"):
        steadhold.asgi(pool_size="many")
    with pytest.raises(TypeError, match="not both"):
        steadhold.asgi(house.settings, background=True)


def test_it_is_loaded_when_it_is_asked_for_and_says_what_it_lacks():
    program = (
        "import sys; sys.modules['uvicorn'] = None; import steadhold; "
        "print('steadhold.server' in sys.modules); steadhold.asgi"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "False\n"
    assert "steadhold.asgi needs uvicorn" in ran.stderr
    assert ran.stderr.rstrip().endswith("which is missing: pip install 'steadhold[server]'")


def parted(path, raw, root="", outer=""):
    scope = {"type": "http", "path": path, "raw_path": raw.encode(), "root_path": root, "app_root_path": outer}
    told = mounting.whole(scope)
    return told["root_path"], told["path"], told["raw_path"].decode()


@pytest.mark.parametrize(
    ("scope", "root", "below"),
    [
        (("/v1/a", "/v1/a"), "", "/v1/a"),
        (("/v1/a/b", "/v1/a%2Fb"), "", "/v1/a%2Fb"),
        (("/m/v1/a/b", "/m/v1/a%2Fb", "/m"), "/m", "/v1/a%2Fb"),
        (("/v1/a/b/", "/m/v1/a%2Fb"), "/m", "/v1/a%2Fb"),
        (("/v1/a/b/", "/m/n/v1/a%2Fb/"), "/m/n", "/v1/a%2Fb/"),
        (("/", "/m"), "/m", ""),
        (("/m/v1/a", "/m/v1/a", "/p/m", "/p"), "/p/m", "/v1/a"),
        (("/v1/a/", "/p/m/v1/a", "/p"), "/p/m", "/v1/a"),
        (("/v1/m/", "/m/v1/m"), "/m", "/v1/m"),
        (("/mm/v1", "/mm/v1", "/m"), "/m", "/mm/v1"),
        (("/\u00e9/v1/a", "/%C3%A9/v1/a", "/\u00e9"), "/\u00e9", "/v1/a"),
    ],
)
def test_an_address_is_parted_where_the_mount_ends(scope, root, below):
    assert parted(*scope) == (root, root + unquote(below), root + below)
