"""What a failure leaves with: a documented exit code, and a sentence that says what to do next."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from steadhold.cli import exits
from tests.cli.conftest import problem, reply

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
NO_ROOM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.argv = ["steadhold", "version"]
from steadhold.cli import main
main()
"""


@pytest.mark.parametrize(
    "answer, code, said",
    [
        (problem(400, "bad_name"), 2, "Why. [bad_name]"),
        (problem(401, "no_valid_key"), 7, "Set STEADHOLD_API_KEY"),
        (problem(403, "missing_scope", scope="state:read"), 7, "[missing_scope, scope=state:read]"),
        (problem(403, "missing_scope", scope="workspaces:read"), 7, "Next: Workspaces are operators' matters"),
        (problem(404, "not_found", last_revision=4), 4, "last_revision=4"),
        (problem(409, "artifact_mismatch", artifact={"hash": "h"}, list=""), 3, "[artifact_mismatch, artifact.hash=h]"),
        (problem(409, "stale_fence"), 3, "Next: Stop what relied on this grant"),
        (problem(410, "revision_pruned", oldest_revision=3), 4, "oldest_revision=3"),
        (problem(412, "condition_false", next="reread", current_revision=2), 3, "Next: Read it again"),
        (problem(409, "held", holder="\x1b[31mx"), 3, "holder=\ufffd[31mx"),
        (problem(422, "operation_mismatch"), 3, "Next: One id is one request"),
        (problem(422, "bad_url"), 1, "Next: What else may be reached is the operator's setting webhooks_allow"),
        (problem(422, "beyond_head", next="reread", last_sequence=3), 1, "Next: Acknowledge what was read, at most"),
        (problem(409, "inbox_restored", next="reread"), 3, "Next: `steadhold consumers show INBOX CONSUMER` tells"),
        (problem(409, "gap_not_accepted", to=7), 3, "--accept-gap-through"),
        (problem(428, "condition_required"), 2, "[condition_required]"),
        (problem(429, "too_many_requests", next="wait", retry_after=3), 6, "Next: Wait 3 s"),
        (problem(503, "unavailable", next="resend"), 6, "Next: Nothing was changed."),
        (problem(507, "storage_exhausted"), 1, "[storage_exhausted]"),
        (httpx2.ConnectError("refused"), 6, "[unreachable]"),
        (reply(302, b"", location="http://b/"), 1, "redirects to http://b/"),
    ],
)
def test_a_failure_has_its_code_and_its_sentence(steadhold, server, answer, code, said):
    server.then(answer)
    result = steadhold("state", "get", "a", code=code)
    assert said in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stdout == ""


def test_an_unknown_outcome_names_its_operation(steadhold, server):
    server.then(httpx2.ReadError("cut off"))
    result = steadhold("state", "put", "a", "1", "--create", "--idempotency-key", "op-1", code=5)
    assert "Operation op-1 may or may not have taken effect" in result.stderr
    assert "steadhold operations abandon op-1" in result.stderr
    assert {request.headers["idempotency-key"] for request in server.requests} == {"op-1"}


def test_an_interrupted_change_names_its_operation(steadhold, server):
    server.then(KeyboardInterrupt())
    result = steadhold("state", "put", "a", "1", "--create", "--idempotency-key", "op-1", code=130)
    assert "Operation op-1 was in flight" in result.stderr


def test_no_key_is_a_usage_error(steadhold):
    said = steadhold("state", "get", "a", code=2).stderr
    assert said.startswith(
        "Error: There is no API key.\nNext: Set STEADHOLD_API_KEY, or name a file with --api-key-file"
    )


def test_a_key_is_read_from_a_file(steadhold, server, tmp_path, monkeypatch):
    monkeypatch.delenv("STEADHOLD_API_KEY")
    (tmp_path / "key").write_text("sh_filed\n")
    server.then(reply(200, b"1", revision=1))
    steadhold("state", "get", "a", "--api-key-file", tmp_path / "key")
    assert server.last.headers["authorization"] == "Bearer sh_filed"


def test_time_and_place_are_chosen(steadhold, server):
    server.then(reply(200, b"1", revision=1))
    steadhold("state", "get", "a", "--url", "http://there:1", "--workspace", "w", "--timeout", "3")
    assert str(server.last.url) == "http://there:1/v1/state/a?workspace=w"
    assert server.made[0][1]["timeout"] == 3


@pytest.mark.parametrize(
    "url, why, said",
    [
        ("http://h:1", httpx2.ConnectError("refused"), "Is it running, and is STEADHOLD_URL right?"),
        ("https://h:1", httpx2.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version"), "does not speak TLS"),
        ("https://h:1", httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), "SSL_CERT_FILE"),
    ],
)
def test_what_is_not_reached_is_named_and_so_is_what_to_look_at(steadhold, server, url, why, said):
    server.then(why)
    told = steadhold("state", "get", "a", "--url", url, code=6).stderr
    assert f"({url})" in told
    assert said in told.partition("Next: ")[2]


def test_a_change_that_was_cut_where_nothing_had_answered_is_told_of_tls(steadhold, server):
    server.then(httpx2.RemoteProtocolError("Server disconnected without sending a response."))
    told = steadhold("state", "put", "a", "1", "--create", "--url", "http://h:1", code=5).stderr
    assert "should the address begin with https://?" in told


@pytest.mark.parametrize("status, code", [(404, 4), (405, 1)])
def test_an_address_that_names_the_version_twice_is_told_so(steadhold, server, status, code):
    server.then(problem(status, "not_found"))
    assert "http://h/v1 ends in /v1" in steadhold("state", "get", "a", "--url", "http://h/v1", code=code).stderr


@pytest.mark.parametrize(
    "words, answer, next",
    [
        ("state get a", problem(404, "not_found"), "`steadhold state ls` lists those that there are"),
        ("state get a", problem(404, "not_found"), "`steadhold state put a VALUE --create` makes it."),
        ("state get a --workspace w", problem(404, "not_found"), "--workspace is for operators' keys"),
        ("state get a --revision 9", problem(404, "not_found"), "`steadhold state revisions a` lists"),
        ("jobs show a", problem(404, "not_found"), "`steadhold jobs ls` lists those that there are"),
        (
            "consumers show i a",
            problem(404, "not_found"),
            "No such consumer, or no such inbox: `steadhold consumers ls i` and `steadhold inbox ls` list",
        ),
        (
            "state put a 1 --create",
            problem(412, "condition_false", current_revision=4),
            "--if-match 4 instead of --create",
        ),
        (
            "state put a 1 --if-match 3",
            problem(412, "condition_false", current_revision=4),
            "--if-match 4 is what is there",
        ),
        ("state put a 1 --if-match 3", problem(412, "condition_false"), "There is nothing to replace"),
    ],
)
def test_a_refusal_says_the_next_command(steadhold, server, words, answer, next):
    server.then(answer)
    code = {404: 4, 412: 3}[answer.status_code]
    assert next in steadhold(*words.split(), code=code).stderr.partition("Next: ")[2]


def test_what_was_not_foreseen_is_not_hidden(steadhold, server):
    server.then(ZeroDivisionError("?"))
    with pytest.raises(ZeroDivisionError):
        steadhold("state", "get", "a")


def test_an_answer_that_cannot_be_written_leaves_what_was_changed(tmp_path):
    with (tmp_path / "full").open("wb") as full:
        ran = subprocess.run([sys.executable, "-c", NO_ROOM], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr.count(b"\n")) == (1, 2)
    assert b"could not be written: File too large." in ran.stderr
    assert b"stays so" in ran.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "help", "state --help", "state get --help"])
def test_help_that_cannot_be_written_says_so(words):
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "steadhold", *words.split()], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[0] == b"Error: What there is to say could not be written: No space left on device."


def test_every_code_stands_on_the_page():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}
    assert listed == {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
