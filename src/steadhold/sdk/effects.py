"""effects: plan and begin actions outside, tell what came of them, and look where somebody has to; journals."""

from __future__ import annotations

from collections.abc import Sequence

from steadhold.kit.fields import FenceRef
from steadhold.sdk.effects_shapes import (
    AlreadyInitiated,
    Effect,
    EffectConflict,
    Entry,
    EntryConflict,
    EvidenceConflict,
    Line,
    Machine,
    NotNeeded,
    Reconciliation,
    Settling,
    Told,
    Verdict,
    digest_of,
)
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.watching import each_change, until_ended
from steadhold.sdk.words import an_id, at, change, guarded, members, pages, read

__all__ = [
    "AlreadyInitiated",
    "Effect",
    "EffectConflict",
    "EffectsRoom",
    "Entry",
    "EntryConflict",
    "EvidenceConflict",
    "JournalsRoom",
    "Line",
    "NotNeeded",
    "digest_of",
]


class EffectsRoom(Room[Mode]):
    """`client.effects`."""

    @verb
    def plan(
        self,
        effect_id: str,
        *,
        kind: str,
        target: str,
        request_digest: str,
        repeatable: bool | None = None,
        expires_in_seconds: float | None = None,
        job_id: str | None = None,
        job_fence: int | None = None,
        amount: str | None = None,
        currency: str | None = None,
        data_ref: str | None = None,
        causation_id: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Effect]:
        """Write down an action before it is begun; the same again answers the effect that there is.

        `effect_id` is its identity outside, too. `amount` is a decimal in a string. `digest_of(request)` is its digest.

        Raises:
            EffectConflict: another action has this id. StaleFence: of the job. OutcomeUnknown.
        """
        body = members(
            effect_id=an_id(effect_id), kind=kind, target=target, request_digest=request_digest, repeatable=repeatable,
            expires_in_seconds=expires_in_seconds, job_id=job_id, job_fence=job_fence, amount=amount,
            currency=currency, data_ref=data_ref, causation_id=causation_id,
        )  # fmt: skip
        return (yield from guarded(at("effects"), body, Effect, fences, operation_id))

    @verb
    def initiate(
        self,
        effect_id: str,
        *,
        job_fence: int | None = None,
        answer_within_seconds: float | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
        give_up_seconds: float | None = None,
    ) -> Script[Effect]:
        """Say that the action begins now. Act once this has answered, and not otherwise.

        Raises:
            AlreadyInitiated: somebody else acts, or did. StaleFence: of the job. RevisionConflict, NotFound.
            OutcomeUnknown: whether it is yours; ask again under the same `operation_id`, and do not act before.
        """
        body = members(job_fence=job_fence, answer_within_seconds=answer_within_seconds)
        headers = {} if if_revision is None else {"if-match": f'"{if_revision}"'}
        asked = change(
            "POST", at("effects", effect_id, "initiate"), body, fences=fences, headers=headers,
            operation_id=operation_id, give_up_seconds=give_up_seconds,
        )  # fmt: skip
        return read((yield asked), Effect)

    @verb
    def outcome(
        self,
        effect_id: str,
        execution: Told,
        *,
        no_effect: bool | None = None,
        venue_ref: str | None = None,
        evidence_ref: str | None = None,
        evidence_id: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Effect]:
        """Say what came of it, however late. What contradicts is kept, and somebody has to look.

        `no_effect`: of a failure, that nothing happened outside. Under an `evidence_id` a fact is taken once.

        Raises:
            EvidenceConflict. Problem "transition_not_permitted": it was not begun. RevisionConflict, NotFound.
        """
        body = members(
            execution=execution, no_effect=no_effect, venue_ref=venue_ref, evidence_ref=evidence_ref,
            evidence_id=evidence_id,
        )  # fmt: skip
        target = at("effects", effect_id, "outcome")
        return (yield from guarded(target, body, Effect, fences, operation_id, if_revision))

    @verb
    def settlement(
        self,
        effect_id: str,
        to: Settling,
        *,
        settles_within_seconds: float | None = None,
        evidence_ref: str | None = None,
        evidence_id: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Effect]:
        """Say what became of the money.

        Raises:
            Problem "transition_not_permitted". EvidenceConflict, RevisionConflict, NotFound.
        """
        body = members(
            to=to, settles_within_seconds=settles_within_seconds, evidence_ref=evidence_ref, evidence_id=evidence_id
        )
        target = at("effects", effect_id, "settlement")
        return (yield from guarded(target, body, Effect, fences, operation_id, if_revision))

    @verb
    def abandon(
        self,
        effect_id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Effect]:
        """Give up an action that was not begun. Saying it again is harmless.

        Raises:
            Problem "transition_not_permitted": it was begun. RevisionConflict, NotFound.
        """
        return (yield from guarded(at("effects", effect_id, "abandon"), {}, Effect, fences, operation_id, if_revision))

    @verb
    def reconcile(
        self,
        effect_id: str,
        outcome: Verdict,
        *,
        evidence_ref: str,
        evidence_id: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Effect]:
        """Decide what came of it, after looking: `evidence_ref` says at what.

        Raises:
            NotNeeded: nobody has to look. EvidenceConflict, RevisionConflict, NotFound.
        """
        body = members(outcome=outcome, evidence_ref=evidence_ref, evidence_id=evidence_id)
        target = at("effects", effect_id, "reconcile")
        return (yield from guarded(target, body, Effect, fences, operation_id, if_revision))

    @verb
    def get(self, effect_id: str) -> Script[Effect]:
        """Read an effect as it stands.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("effects", effect_id))), Effect)

    @verb
    def wait(self, effect_id: str, *, timeout_seconds: float | None = None) -> Script[Effect]:
        """Wait until all of it is decided and nobody has to look.

        Raises:
            TimeoutError: it is open after `timeout_seconds`. NotFound.
        """
        return (
            yield from until_ended("effects", effect_id, Effect, timeout_seconds, f"Effect {effect_id} is not decided")
        )

    @flow
    def watch(self, effect_id: str, *, since: int | None = None) -> Stream[Effect]:
        """An effect as it is now, then after each change that is seen, until it is not open any more.

        Raises:
            NotFound.
        """
        yield from each_change("effects", effect_id, Effect, since)

    @flow
    def list(self, *, reconciliation: Reconciliation | None = None) -> Stream[Effect]:
        """Effects, the newest first; those that need reconciliation, the one that waits longest first."""
        yield from pages(lambda cursor: at("effects", reconciliation=reconciliation, cursor=cursor), Effect)

    @flow
    def history(self, effect_id: str, *, machine: Machine | None = None) -> Stream[Line]:
        """Everything that an effect became, and every fact that was kept, in order.

        Raises:
            NotFound.
        """
        yield from pages(lambda cursor: at("effects", effect_id, "history", machine=machine, cursor=cursor), Line)


class JournalsRoom(Room[Mode]):
    """`client.journals`: charges that are kept here."""

    @verb
    def enter(
        self,
        journal: str,
        entry_id: str,
        *,
        amount: str,
        currency: str,
        effect_id: str | None = None,
        data_ref: str | None = None,
        causation_id: str | None = None,
        note: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Entry]:
        """Keep a charge, once under its id, for ever; the same again answers the one that there is.

        Raises:
            EntryConflict: another charge has this id. OutcomeUnknown: send it again, under any operation id.
        """
        body = members(
            entry_id=an_id(entry_id), amount=amount, currency=currency, effect_id=effect_id, data_ref=data_ref,
            causation_id=causation_id, note=note,
        )  # fmt: skip
        target = at("journals", an_id(journal), "entries")
        return (yield from guarded(target, body, Entry, fences, operation_id))

    @flow
    def entries(self, journal: str) -> Stream[Entry]:
        """The charges of a journal, the oldest first.

        Raises:
            NotFound: it has none.
        """
        yield from pages(lambda cursor: at("journals", journal, "entries", cursor=cursor), Entry)
