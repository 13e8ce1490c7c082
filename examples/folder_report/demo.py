"""`make demo`: a durable job over a folder of yours, with everything that usually loses work happening to it.

    .venv/bin/python examples/folder_report/demo.py [FOLDER]

Exit code 0: every promise held. 1: one did not, and which. 2: there is no such folder. 130: interrupted; then
the next run goes on with the same job.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, Final

from account import look_around, told
from misfortunes import lost_answers, race
from processes import Broken, Child, Server, data_folder, server, worker
from proof import Killed, Seen, kept_of, plain_walk, promises
from telling import Teller, many
from walking import shown, why

from steadhold import Client, Problem, SteadholdError
from steadhold.db.errors import DatabaseError
from steadhold.kit.fields import FenceRef
from steadhold.sdk.job_shapes import Job, Submitted

TYPE: Final = "folder_report"
LEASE_SECONDS: Final = 3
WATCH_SECONDS: Final = 4
LOOK_SECONDS: Final = 0.03
LAST_STAGES: Final = 3
"""The last chunk, merge and store: the first worker is killed before them, so that there is something to take over."""


class Demo:
    """One run: a server, a job, and what was seen of it."""

    def __init__(self, server: Server, client: Client, input: dict[str, Any], tell: Teller) -> None:
        self.server, self.client, self.input, self.tell = server, client, input, tell
        self.job_id = ""
        tell.move("counting the folder, to compare later …")
        self.seen = Seen(resumed=False, plain=plain_walk(input["folder"], input["skip"]))

    def play(self) -> bool:
        """Tell the story from beginning to end; whether every promise held."""
        self.tell.chapter("A job is stored before anybody answers for it")
        submitted = self.admit()
        self.job_id, self.seen.resumed = submitted.job_id, not submitted.created
        with worker(1, self.server) as first:
            self.tell.say(f"   worker 1 is process {first.pid}")
            self.seen.killed = self.kill_half_way(first)
        with worker(2, self.server) as second:
            if self.seen.killed is not None:
                self.take_over(second)
            self.finish(second)
        self.seen.receipts = lost_answers(self.server, self.client, self.tell)
        self.seen.winners = race(self.client, self.tell)
        kept = kept_of(self.client, self.job_id, self.input["report"])
        again = plain_walk(self.input["folder"], self.input["skip"])
        return told(self.tell, kept, list(promises(self.seen, kept, again)))

    def admit(self) -> Submitted:
        """Submit the job, or find the one that an interrupted run left."""
        digest = hashlib.sha256(json.dumps(self.input).encode()).hexdigest()
        submitted = self.client.jobs.submit(TYPE, self.input, unique_key=f"{TYPE}:{digest[:32]}")
        if submitted.created:
            self.tell.say(f"   job {submitted.job_id} is accepted")
        else:
            stages = many(self.client.jobs.get(submitted.job_id).stages, "stage")
            self.tell.say(f"   job {submitted.job_id} was left by an interrupted run with {stages} kept: it goes on")
        return submitted

    def kill_half_way(self, first: Child) -> Killed | None:
        """Watch the first worker to the middle of its work and kill it there. None: it came too late for that."""
        self.tell.chapter("Half way, worker 1 is killed")
        before = self.client.jobs.get(self.job_id)
        while True:
            job = self.watch("worker 1", first)
            total = stages_in_all(job)
            if job.ended or (total and job.stages > total - LAST_STAGES):
                self.tell.say("   There was hardly anything left to do, so nobody is killed this time.")
                return None
            half = min(max(before.stages + 1, (before.stages + total) // 2), total - LAST_STAGES)
            if total and job.fence and job.fence != before.fence and job.stages >= half:
                break
            time.sleep(LOOK_SECONDS)
        first.kill()
        kept = {kept.stage: kept.digest for kept in self.client.jobs.checkpoints(self.job_id)}
        self.tell.say(f"   SIGKILL after {len(kept)} of {total} stages. It held the job under fence {job.fence}.")
        return Killed(job.fence, kept)

    def take_over(self, second: Child) -> None:
        """Wait until the second worker owns the job, and let the first one's last words arrive after that."""
        assert self.seen.killed is not None
        self.tell.chapter("Worker 2 takes over, and worker 1 is heard no more")
        self.tell.say(f"   worker 2 is process {second.pid}; it may not touch the job while worker 1's lease runs")
        began = time.monotonic()
        while ((job := self.client.jobs.get(self.job_id)).fence or 0) <= self.seen.killed.fence:
            second.check()
            left = began + LEASE_SECONDS - time.monotonic()
            self.tell.move(f"   the lease runs for {left:.1f} s at most" if left > 0 else "   the lease has run out")
            time.sleep(LOOK_SECONDS)
        waited = time.monotonic() - began
        kept = many(len(self.seen.killed.kept), "kept stage")
        self.tell.say(f"   After {waited:.1f} s worker 2 owns it under fence {job.fence}, and goes on behind {kept}.")
        self.hear_the_dead(self.seen.killed)

    def hear_the_dead(self, killed: Killed) -> None:
        """Send what the first worker may still have had on the wire when it was killed."""
        client, fence = self.client, killed.fence
        stage = f"chunk-{sum(name.startswith('chunk-') for name in killed.kept) + 1:04}"
        grant = FenceRef(f"job:{self.job_id}", fence)
        self.tell.say(f"   Now the last messages of worker 1 arrive, late, under fence {fence}:")
        detail = "nothing"
        for what, send in (
            (f"checkpoint {stage}", lambda: client.jobs.checkpoint(self.job_id, stage, fence, {"late": True})),
            ("completion", lambda: client.jobs.complete(self.job_id, fence, {"late": True})),
            ("report", lambda: client.state.create(self.input["report"], {"late": True}, fences=[grant])),
        ):
            try:
                send()
            except Problem as problem:
                self.seen.late.append(problem.code)
                self.tell.say(f"     {what:<24}{problem.status} {problem.code}")
                detail = problem.detail
            else:
                self.seen.late.append("accepted")
                self.tell.say(f"     {what:<24}was accepted, and should not have been")
        self.tell.say(f"   The server says: {detail}")

    def finish(self, second: Child) -> None:
        """Watch the second worker to the end."""
        while not (job := self.watch("worker 2", second)).ended:
            time.sleep(LOOK_SECONDS)
        if job.state != "completed":
            why = f"{job.error_code}: {job.failure.message}" if job.failure else job.error_code
            raise Broken(f"Job {self.job_id} is {job.state} ({why}).\n{second.said()}".rstrip())
        self.tell.say(f"   The job is completed under fence {job.fence}.")

    def watch(self, label: str, working: Child) -> Job:
        """Look at the job, and show how far it is."""
        working.check()
        job = self.client.jobs.get(self.job_id)
        if total := stages_in_all(job):
            self.tell.bar(label, job.stages, total)
        else:
            self.tell.move(f"   {label} lists the folder: {many(job.stages, 'page')} kept")
        return job


def stages_in_all(job: Job) -> int:
    """How many stages the worker says that there are; 0 while it does not know yet."""
    progress: Any = job.progress
    return progress["stages"] if progress else 0


def request(argument: str) -> dict[str, Any]:
    """What the job is given for a folder; the standard library's own where none is named.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    with contextlib.suppress(RuntimeError):  # there is no such user: then it is a name like any other
        argument = str(Path(argument).expanduser()) if argument else ""
    folder = os.path.realpath(os.fsencode(argument or sysconfig.get_path("stdlib")))
    os.scandir(folder).close()
    apart = [] if argument else ["site-packages", "dist-packages"]
    plain = [c if c.isascii() and (c.isalnum() or c in "_-.") else "-" for c in shown(folder.rpartition(b"/")[2])]
    name = "".join(plain).strip(".-")[:80] or "folder"
    skip = [".steadhold", *apart]
    return {"folder": shown(folder), "skip": skip, "report": f"reports/{name}", "watch_seconds": WATCH_SECONDS}


def run(input: dict[str, Any], tell: Teller) -> bool:
    """Start everything, play, and stop everything."""
    folder = data_folder()
    tell.say(f"A durable job over {input['folder']}, killed half way and finished once.")
    tell.move("starting PostgreSQL and the server …")
    with server(folder) as serving, Client(serving.url, serving.api_key) as client:
        tell.say(f"PostgreSQL and the server run at {serving.url}, with their data in {shown(os.fsencode(folder))}.")
        demo = Demo(serving, client, input, tell)
        held = demo.play()
    look_around(tell, folder, demo.job_id, input["report"])
    return held


def main(arguments: list[str]) -> int:
    """Run the demo; its exit code."""
    tell = Teller()
    try:
        input = request(" ".join(filter(None, arguments)))
    except OSError as error:
        tell.say(f"There is no report on {shown(os.fsencode(' '.join(arguments)))}: {why(error)}.")
        return 2
    began = time.monotonic()
    try:
        held = run(input, tell)
    except (Broken, DatabaseError, SteadholdError) as error:
        tell.say(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        tell.say(
            "\nInterrupted. Nothing is broken: run it again, and an unfinished job goes on behind its last kept stage."
        )
        return 130
    seconds = time.monotonic() - began
    tell.say(f"\n{'Every promise held' if held else 'A promise was broken, see NO above'}, in {seconds:.0f} s.")
    return 0 if held else 1


def ended(number: int, _frame: object) -> None:
    """Unwind, so that everything that was started is stopped; also where a shell had us ignore Ctrl-C."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    out: Any = sys.stdout
    out.reconfigure(errors="replace")  # names of files may hold what the terminal cannot show
    try:
        code = main(sys.argv[1:])
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        code = 1
    sys.exit(code)
