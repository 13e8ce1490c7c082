"""Who sits before the dashboard in tests: keys, and a browser of plain HTTP that keeps cookies and sends forms."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from html import unescape
from urllib.parse import urlencode

from steadhold import access
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.play.single import Single
from tests.web.toy import Client

CSRF = re.compile(r'name="csrf" value="([^"]+)"')
ORIGIN = "http://server"
SEALING = b64encode(bytes(32)).decode()
"""By which a test's server seals secrets of webhooks."""


async def key_of(app, workspace, *, kind="person", scopes=("*:*",)):
    """A new key of a workspace, or an operator's."""
    token = Token("test", key_id_of(new_id()), secret_of(os.urandom(32)))
    where = access.HOUSE if kind == "operator" else workspace
    await Single(app.engine.pool).play(
        access.import_key.call(
            where, token.key_id, token.hash, env="test", subject=f"{kind}-{token.key_id}", kind=kind, scopes=scopes
        )
    )
    return token.text


class Page:
    """What a browser was answered."""

    def __init__(self, got):
        self.status, self.headers, self.body = got.status, got.headers, got.body
        self.cookies = got.cookies

    @property
    def text(self):
        return self.body.decode()

    @property
    def csrf(self):
        """The token of the page's forms."""
        return unescape(CSRF.search(self.text)[1])

    @property
    def location(self):
        return self.headers.get("location")

    @property
    def code(self):
        """The code of a refusal."""
        return re.search(r"<dt>Code</dt><dd><code>(\w+)</code>", self.text)[1]


class Seat:
    """Somebody before the dashboard, by plain HTTP: it keeps cookies, and sends forms as a page of ours would.

    `await seat.log_in(key)`; `await seat.get("/keys")`; `await seat.post("/keys/<id>/revoke", name="value")`.
    """

    def __init__(self, app, *, root="", **always):
        self.client, self.root, self.jar = Client(app, None, root=root), f"{root}/ui", {}
        self.always = {"host": "server", **always}

    async def ask(self, method, path, body=b"", **headers):
        """One request; `path` follows `/ui`."""
        said = {**self.always, **headers}
        if self.jar:
            said["cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        page = Page(await self.client(method, self.root + path, body, **said))
        for line in page.cookies:
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0]
            self.jar.pop(name, None)
            if value:
                self.jar[name] = value
        return page

    async def get(self, path, **headers):
        """Open a page."""
        return await self.ask("GET", path, **headers)

    async def send(self, path, fields, **headers):
        """Send a form as it is given."""
        said = {"origin": ORIGIN, "sec_fetch_site": "same-origin", "content_type": "application/x-www-form-urlencoded"}
        body = urlencode(fields, doseq=True).encode()
        return await self.ask("POST", path, body, **{name: value for name, value in (said | headers).items() if value})

    async def post(self, path, **fields):
        """Send a form with the session's token and a new operation id."""
        return await self.send(path, {"csrf": self.csrf, "operation": new_id(), **fields})

    async def log_in(self, key, next="/ui"):
        """Type a key; every page after that is of its session."""
        page = await self.send("/login", {"key": key, "next": next})
        if page.status == 303:
            self.csrf = (await self.get("/workspace")).csrf
        return page
