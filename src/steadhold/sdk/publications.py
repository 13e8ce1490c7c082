"""events: what is on its way to subscriptions, and what does not get on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from steadhold.kit.fields import FenceRef
from steadhold.sdk.events_shapes import Parked, Publication
from steadhold.sdk.grammar import Mode, Room, Script, Stream, flow, verb
from steadhold.sdk.words import at, guarded, members, pages

__all__ = ["Parked", "Publication", "PublicationsRoom"]


class PublicationsRoom(Room[Mode]):
    """`client.publications`: what is on its way, and what does not get on."""

    @flow
    def list(self, state: Literal["pending", "blocked", "parked"]) -> Stream[Publication]:
        """Every publication in a state."""
        yield from pages(lambda cursor: at("publications", state=state, cursor=cursor), Publication)

    @verb
    def retry(
        self, publication_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Publication]:
        """Let it be tried now, with all its attempts before it.

        Raises:
            NotFound: there is none. Problem: `publication_settled`. OutcomeUnknown.
        """
        target = at("publications", publication_id, "retry")
        return (yield from guarded(target, None, Publication, fences, operation_id))

    @verb
    def retry_parked(
        self,
        subscription_id: str | None = None,
        *,
        expect_count: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Parked]:
        """Let all that is parked be tried again, if they are `expect_count`; without it, only count them.

        A turn takes the oldest thousand; go on with `left` as the number to expect.

        Raises:
            CountChanged, OutcomeUnknown.
        """
        body = members(subscription_id=subscription_id, expect_count=expect_count)
        return (yield from guarded(at("publications:retry"), body, Parked, fences, operation_id))

    @verb
    def skip(
        self, publication_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Publication]:
        """Never publish it; what waits behind it goes on.

        Raises:
            NotFound: there is none. Problem: `publication_settled`. OutcomeUnknown.
        """
        return (yield from guarded(at("publications", publication_id, "skip"), None, Publication, fences, operation_id))
