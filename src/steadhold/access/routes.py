"""access over HTTP: keys, workspaces, entitlements and their record."""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar, assert_never

from steadhold.access import model, plans, scopes, wire
from steadhold.access.authenticate import actor
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import id_fault, new_secret
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import page
from steadhold.kit.plan import Call
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route

Refused: TypeAlias = model.Exceeds | model.KeyEnded | model.Taken | Missing
Shown = TypeVar("Shown", bound=model.Made | Refused)


def create_workspace(ask: Request) -> Ask[model.Made | model.KeyEnded | model.Taken]:
    """Found a workspace, and show its first key."""
    body = decode.body(ask, wire.WorkspaceBody)
    if (why := model.workspace_fault(body.name)) is not None:
        problem.stop("bad_name", why, pointer="/name")
    _subject(body.subject)
    token = Token("", key_id_of(ask.fresh), secret_of(new_secret()))
    call = plans.create_workspace.call(body.name, token.key_id, token.hash, subject=body.subject, by=actor(ask))
    return _shown(ask, call, token)


def workspaces(ask: Request) -> Ask[list[model.Workspace]]:
    """All workspaces, by name."""
    most, after = query.limit(ask), query.cursor(ask, "workspaces", str)

    def render(found: list[model.Workspace]) -> Answer:
        return reply.listing(ask, page(found, most, "workspaces", lambda w: (w.name,)), wire.workspace_item)

    return Ask(plans.workspaces.call(ask.workspace, after[0] if after else "", most + 1), render)


def make_key(ask: Request) -> Ask[model.Made | model.Exceeds | model.KeyEnded | model.Taken]:
    """Make a key that is no more than the one that asks, and show it."""
    body = decode.body(ask, wire.KeyBody)
    _subject(body.subject)
    for at, text in enumerate(body.scopes):
        if (why := scopes.scope_fault(text, body.kind)) is not None:
            problem.stop("bad_scope", why, pointer=f"/scopes/{at}")
    token = Token("", key_id_of(ask.fresh), secret_of(new_secret()))
    call = plans.make_key.call(
        ask.workspace,
        token.key_id,
        token.hash,
        subject=body.subject,
        kind=body.kind,
        scopes=body.scopes,
        expires_in_seconds=body.expires_in_seconds,
        by=actor(ask),
    )
    return _shown(ask, call, token)


def keys(ask: Request) -> Ask[list[model.Key]]:
    """Keys in the order in which they were made, ended ones too."""
    most, after = query.limit(ask), query.cursor(ask, "keys", str)

    def render(found: list[model.Key]) -> Answer:
        return reply.listing(ask, page(found, most, "keys", lambda key: (key.key_id,)), wire.key_item)

    return Ask(plans.keys.call(ask.workspace, after[0] if after else "", most + 1), render)


def key(ask: Request) -> Ask[model.Key | Missing]:
    """What is known of a key."""

    def render(found: model.Key | Missing) -> Answer:
        return problem.MISSING if isinstance(found, Missing) else _told(ask, found)

    return Ask(plans.key.call(ask.workspace, ask.params["key_id"]), render)


def rotate_key(ask: Request) -> Ask[model.Made | model.Exceeds | model.KeyEnded | Missing]:
    """Give a key a new secret, and show it; the one before it serves for the grace."""
    body = decode.body(ask, wire.RotateBody)
    token = Token("", ask.params["key_id"], secret_of(new_secret()))
    call = plans.rotate_key.call(
        ask.workspace, token.key_id, token.hash, grace_seconds=body.grace_seconds, by=actor(ask)
    )
    return _shown(ask, call, token, 200)


def revoke_key(ask: Request) -> Ask[model.Made | Missing]:
    """End a key, for good."""
    key_id = ask.params["key_id"]

    def render(outcome: model.Made | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        ended = outcome.key
        return reply.json(wire.key_item(ended), revision=ended.revision, resource=f"key:{ended.key_id}")

    return Ask(plans.revoke_key.call(ask.workspace, key_id, by=actor(ask)), render, touches=(("keys", key_id),))


def entitlements(ask: Request) -> Ask[model.Entitled]:
    """How much the workspace may have, and what it uses of it."""

    def render(found: model.Entitled) -> Answer:
        return reply.json(wire.entitlements_reply(found, told=True), revision=found.revision or None)

    return Ask(plans.entitlements.call(ask.workspace), render)


def put_entitlements(ask: Request) -> Ask[model.Entitled | RevisionConflict | Missing]:
    """Set all that a workspace may have."""
    wanted, expected = decode.body(ask, wire.Limits), conditions.put(ask)
    for at, text in enumerate(wanted.job_types or ()):
        if (why := id_fault(text)) is not None:
            problem.stop("bad_member", why, pointer=f"/job_types/{at}")

    def render(outcome: model.Entitled | RevisionConflict | Missing) -> Answer:
        match outcome:
            case model.Entitled():
                told, status = wire.entitlements_reply(outcome, told=False), 201 if expected is None else 200
                return reply.json(told, status, revision=outcome.revision, resource="entitlements")
            case RevisionConflict():
                return problem.refused(outcome)
            case Missing():
                return Problem("condition_false", "None are set yet: create them with If-None-Match: *.")
        assert_never(outcome)

    call = plans.put_entitlements.call(ask.workspace, wanted.entitlements(), expected, by=actor(ask))
    return Ask(call, render)


def audit(ask: Request) -> Ask[list[model.Audited]]:
    """Who did what to what, newest first."""
    most, before = query.limit(ask), query.dated_cursor(ask, "audit", int)

    def render(found: list[model.Audited]) -> Answer:
        rows = page(found, most, "audit", lambda row: (reply.instant(row.at), row.number))
        return reply.listing(ask, rows, wire.audit_item)

    wanted = {name: query.text(ask, name) for name in ("subject", "kind", "resource")}
    return Ask(plans.trail.call(ask.workspace, most + 1, before=before, **wanted), render)


def _subject(text: str) -> None:
    if (why := id_fault(text)) is not None:
        problem.stop("bad_member", why, pointer="/subject")


def _told(ask: Request, found: model.Key) -> Reply:
    if conditions.unchanged(ask, found.revision):
        return reply.not_modified(found.revision)
    return reply.json(wire.key_item(found), revision=found.revision)


def _shown(ask: Request, call: Call[Shown], token: Token, status: int = 201) -> Ask[Shown]:
    """Show a secret in this answer; what is kept of it says only that it was shown."""

    def render(outcome: Shown) -> Answer:
        if isinstance(outcome, model.Made):
            return _secret(outcome, Token(outcome.key.env, token.key_id, token.secret).text, status)
        return _refused(ask, outcome)

    def remember(outcome: Shown) -> Reply:
        if not isinstance(outcome, model.Made):
            raise TypeError(f"a refusal is not remembered: {outcome}")
        return _secret(outcome, None, status)

    return Ask(call, render, remember=remember, touches=(("keys", token.key_id),))


def _secret(made: model.Made, secret: str | None, status: int) -> Reply:
    told = wire.secret_reply(made.workspace, made.key, secret)
    return reply.json(told, status, revision=made.key.revision, resource=f"key:{made.key.key_id}")


def _refused(ask: Request, outcome: Refused) -> Problem:
    match outcome:
        case Missing():
            return problem.MISSING
        case model.Exceeds(what, beyond):
            extras = {"what": what, "scopes": beyond} if beyond else {"what": what}
            return Problem("exceeds_maker", f"A key may not exceed the one that makes it, here in its {what}.", extras)
        case model.Taken(name):
            return Problem("workspace_exists", f"There is a workspace {name}; its keys are made with its own.")
        case model.KeyEnded(key_id) if key_id == ask.who.key_id:
            return Problem("no_valid_key", "The key that asks has ended.", headers=(("www-authenticate", "Bearer"),))
        case model.KeyEnded():
            return Problem("key_ended", "This key is revoked or has expired; make another one.")
    assert_never(outcome)


def whoami(ask: Request) -> Answer:
    """Who the key is that asks."""
    who = ask.who
    told = wire.WhoReply(
        workspace=ask.workspace or None, subject=who.subject, key_id=who.key_id, kind=who.kind, scopes=who.scopes
    )
    return reply.json(told)


MAKES: Final = ("exceeds_maker", "bad_scope")

ROUTES: tuple[Route, ...] = (
    Route(
        "POST", "/v1/workspaces", create_workspace, "workspaces:create", "Found a workspace",
        receipt="required", body="json", takes=wire.WorkspaceBody, gives=wire.SecretReply, status=201,
        problems=("workspace_exists", "bad_name"), house=True,
    ),
    Route(
        "GET", "/v1/workspaces", workspaces, "workspaces:read", "List all workspaces",
        query=("limit", "cursor"), gives=wire.WorkspaceItem, house=True,
    ),
    Route(
        "POST", "/v1/keys", make_key, "keys:create", "Make a key",
        receipt="required", body="json", takes=wire.KeyBody, gives=wire.SecretReply, status=201, problems=MAKES,
    ),
    Route("GET", "/v1/whoami", whoami, "", "Say who the key is", gives=wire.WhoReply),
    Route("GET", "/v1/keys", keys, "keys:read", "List keys", query=("limit", "cursor"), gives=wire.KeyItem),
    Route(
        "GET", "/v1/keys/{key_id}", key, "keys:read", "Read what is known of a key",
        headers=("if-none-match",), gives=wire.KeyItem,
    ),
    Route(
        "POST", "/v1/keys/{key_id}/rotate", rotate_key, "keys:rotate", "Give a key a new secret",
        receipt="required", body="json", takes=wire.RotateBody, gives=wire.SecretReply,
        problems=("exceeds_maker", "key_ended"),
    ),
    Route(
        "POST", "/v1/keys/{key_id}/revoke", revoke_key, "keys:revoke", "End a key",
        receipt="optional", gives=wire.KeyItem,
    ),
    Route(
        "GET", "/v1/entitlements", entitlements, "entitlements:read", "Read how much there may be, and what is used",
        gives=wire.EntitlementsReply,
    ),
    Route(
        "PUT", "/v1/entitlements", put_entitlements, "entitlements:write", "Set how much there may be",
        headers=("if-match", "if-none-match"), receipt="optional", body="json", takes=wire.Limits,
        gives=wire.EntitlementsReply, problems=("condition_required", "condition_inexact", "condition_false"),
    ),
    Route(
        "GET", "/v1/audit", audit, "audit:read", "Read who did what to what",
        query=("subject", "kind", "resource", "limit", "cursor"), gives=wire.AuditItem,
    ),
)  # fmt: skip
