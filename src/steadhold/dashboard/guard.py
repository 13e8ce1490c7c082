"""What is tested of a request before a page sees it: where it comes from, its cookie, its form."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from steadhold.dashboard.session import Session
from steadhold.web.problem import stop

SESSION: Final = "steadhold_session"
DONE: Final = "steadhold_done"
"""The cookie that carries to the next page which action was done."""

CSRF: Final = "csrf"
_FIELDS_MAX: Final = 2_000


def cookies(header: str) -> dict[str, str]:
    """The cookies that a browser sends; of two with one name, the first."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        found.setdefault(name, value)
    return found


def set_cookie(name: str, value: str, path: str, *, seconds: int, secure: bool) -> str:
    """A Set-Cookie field: no script reads it, and no other site's request carries it."""
    flags = f"Path={'/' if secure else path}; Max-Age={seconds}; HttpOnly; SameSite=Strict"
    return f"{kept_as(name, secure=secure)}={value}; {flags}{'; Secure' if secure else ''}"


def kept_as(name: str, *, secure: bool) -> str:
    """The name that a browser keeps a cookie under: by https one that no other host, above it or below, can set.

    Else a page of a neighbour could put its own session before somebody, whose work would go on in it. Such a name
    goes with the path `/` alone.
    """
    return f"__Host-{name}" if secure else name


def own_origin(headers: Mapping[str, str], public_url: str) -> None:
    """Refuse a form that no page of ours sent. Browsers say with each POST where it comes from."""
    origin, site = headers.get("origin", ""), headers.get("sec-fetch-site", "same-origin")
    if site != "same-origin" or not _ours(origin, headers.get("host", ""), public_url):
        stop("foreign_origin", "This form was not sent by a page of this dashboard.")


def _ours(origin: str, host: str, public_url: str) -> bool:
    try:
        came, public = urlsplit(origin), urlsplit(public_url)
    except ValueError:
        return False
    if public_url and (came.scheme, came.netloc.lower()) == (public.scheme, public.netloc.lower()):
        return True
    schemes = {"https"} if public.scheme == "https" else {"http", "https"}
    return came.scheme in schemes and came.netloc != "" and came.netloc.lower() == host.lower()


def form(body: bytes, content_type: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The fields of a form: the last text of each, and all of them. Raises Stop."""
    if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        stop("unsupported_media_type", "A form is sent as application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )  # fmt: skip
    except ValueError:
        stop("bad_request", f"A form is at most {_FIELDS_MAX} fields in percent-encoded UTF-8.")
    lists: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        lists[name] = (*lists.get(name, ()), value)
    return dict(pairs), lists


def own_form(session: Session, fields: Mapping[str, str]) -> None:
    """Refuse a form that was not made for this session."""
    if not hmac.compare_digest(fields.get(CSRF, "").encode(), session.csrf.encode()):
        stop("foreign_form", "The form is of another session, or of none: load the page anew and send it again.")


def within(root: str, address: str) -> str:
    """An address to go to after the login: one of the dashboard's own, or its first page."""
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith((root + "/", root + "?")) else root
