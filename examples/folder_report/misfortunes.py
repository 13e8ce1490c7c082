"""Two things that go wrong between any client and any server: an answer that is lost, and a race."""

from __future__ import annotations

import threading
from typing import Final

from processes import Server
from telling import Teller
from wire import Cut, Relay

from steadhold import Client, OutcomeUnknown, SteadholdError
from steadhold.sdk.errors import RevisionConflict

LETTER: Final = "demo/letter"
SEAT: Final = "demo/seat"
WRITERS: Final = ("ada", "grace")


def lost_answers(server: Server, client: Client, tell: Teller) -> list[str]:
    """Lose one answer and one request, which look alike from here; what the receipt of each says."""
    tell.chapter("An answer is lost on the wire")
    tell.say("   Two changes are sent over a line that is cut: one after the server acted, one before it heard of it.")
    return [_lost(server, client, tell, "after"), _lost(server, client, tell, "before")]


def _lost(server: Server, client: Client, tell: Teller, cut: Cut) -> str:
    before = client.state.update(LETTER, lambda value: value, create={"from": "nobody"}).revision
    with Relay(server.url, cut) as relay, Client(relay.url, server.api_key, give_up_seconds=0) as cut_off:
        try:
            cut_off.state.put(LETTER, {"from": cut}, if_revision=before)
        except OutcomeUnknown as unknown:
            tell.say(f"   PUT /v1/state/{LETTER}  no answer: {unknown.why}")
            receipt = client.operations.resolve(unknown, wait_seconds=0.5)
            now = client.state.get(LETTER).revision
        else:
            return "answered"
    if receipt.committed:
        tell.say(
            f"     its receipt: committed, revision {receipt.revision}. It happened; sending it anew would be wrong."
        )
    else:
        tell.say("     its receipt: abandoned. It did not happen, and now never will; sending it anew is right.")
    return receipt.state if now == (receipt.revision if receipt.committed else before) else "contradicted"


def race(client: Client, tell: Teller) -> int:
    """Let two write the same revision of one name at the same moment; how many won."""
    tell.chapter("Two writers, one name")
    before = client.state.update(SEAT, lambda _: {"taken_by": None}, create=None).revision
    answers: dict[str, str] = {}
    together = threading.Barrier(len(WRITERS))

    def write(writer: str) -> None:
        with client.twin() as mine:
            mine.state.get(SEAT)
            together.wait()
            try:
                written = mine.state.put(SEAT, {"taken_by": writer}, if_revision=before)
                answers[writer] = f"200, revision {written.revision}"
            except RevisionConflict as conflict:
                answers[writer] = f"{conflict.status} {conflict.code}, revision {conflict.current_revision} was faster"
            except SteadholdError as error:
                answers[writer] = str(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in WRITERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in WRITERS:
        tell.say(f'   {writer:<6} PUT /v1/state/{SEAT}  If-Match: "{before}"   {answers.get(writer, "no answer")}')
    winners = [writer for writer in WRITERS if answers.get(writer, "").startswith("200")]
    return len(winners) if [client.state.get(SEAT).value["taken_by"]] == winners else 0
