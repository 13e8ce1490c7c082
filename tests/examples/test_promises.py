"""The demo judges itself: each promise that is broken is told, and only that one."""

from __future__ import annotations

import json
import os

import demo
import msgspec
import processes
import proof
import pytest
import telling

from steadhold.sdk.job_shapes import Checkpoint, Coverage, Job

PAGE = {"files": [["a", 3], ["b", 4]], "troubles": [], "counted": {}, "last": None, "more": False}
REPORT = {"found": 2, "files": 2, "bytes": 7, "unread": {"count": 0, "first": []}}
RESULTS = {"walk-0001": PAGE, "chunk-0001": {"sizes": [3]}, "chunk-0002": {"sizes": [4]}, "merge": REPORT, "store": {}}
COMMITS = [("walk-0001", 1), ("chunk-0001", 1), ("chunk-0002", 2), ("merge", 2), ("store", 2)]


def stage(name, fence):
    raw = msgspec.Raw(json.dumps(RESULTS[name]).encode())
    return Checkpoint(stage=name, digest=f"of {name}", fence=fence, raw=raw)


def kept(**but):
    whole = {
        "job": Job(job_id="j", type="t", state="completed", revision=9, coverage=Coverage("complete", 2, 2)),
        "workers": {1: "one", 2: "two"},
        "commits": COMMITS,
        "stages": {name: stage(name, fence) for name, fence in COMMITS},
        "report": REPORT,
    }
    return proof.Kept(**{**whole, **but})


def seen(**but):
    whole = {
        "resumed": False,
        "plain": (2, 7),
        "killed": proof.Killed(1, {"walk-0001": "of walk-0001", "chunk-0001": "of chunk-0001"}),
        "late": ["stale_fence"] * 3,
        "receipts": ["committed", "abandoned"],
        "winners": 1,
    }
    return proof.Seen(**{**whole, **but})


def broken(seen, kept, again=(2, 7)):
    return [promise for held, promise in proof.promises(seen, kept, again) if not held]


def test_a_run_as_promised_breaks_none():
    assert broken(seen(), kept()) == []


@pytest.mark.parametrize(
    "saw, keeps, promise",
    [
        ({}, {"commits": [*COMMITS[:2], COMMITS[1], *COMMITS[2:]]}, "Every stage was committed once"),
        ({}, {"commits": COMMITS[:-1]}, "Every stage was committed once"),
        ({}, {"commits": [COMMITS[2], *COMMITS[:2], *COMMITS[3:]]}, "Fences only rose"),
        ({"killed": proof.Killed(1, {"walk-0001": "other"})}, {}, "What was kept when the first worker was killed"),
        ({"killed": proof.Killed(1, {"walk-0009": "gone"})}, {}, "What was kept when the first worker was killed"),
        ({"late": ["stale_fence", "accepted", "stale_fence"]}, {}, "3 late messages"),
        ({}, {"report": {**REPORT, "bytes": 8}}, "List, chunks and report count the same"),
        ({"plain": (3, 7)}, {}, "A plain walk of the folder"),
        ({"receipts": ["committed", "committed"]}, {}, "Of two changes without an answer"),
        ({"receipts": ["answered", "abandoned"]}, {}, "Of two changes without an answer"),
        ({"winners": 2}, {}, "Of two writers"),
        ({"winners": 0}, {}, "Of two writers"),
    ],
)
def test_a_broken_promise_is_told(saw, keeps, promise):
    told = broken(seen(**saw), kept(**keeps), again=saw.get("plain", (2, 7)))
    assert any(line.startswith(promise) for line in told), told


def test_a_job_that_is_not_completed_breaks_its_promise():
    job = Job(job_id="j", type="t", state="failed", revision=9)
    assert len(broken(seen(), kept(job=job))) == 2


def test_a_folder_that_changed_meanwhile_is_not_compared():
    assert broken(seen(), kept(), again=(3, 9)) == []


def test_the_table_says_who_did_what():
    rows = list(kept().rows())
    assert rows[1] == ("1", "one", "1", "1", "1", "3 bytes", "-")
    assert rows[2] == ("2", "two", "0", "1", "1", "4 bytes", "merge and store")


@pytest.mark.parametrize(
    "held, code, says", [(True, 0, "Every promise held"), (False, 1, "A promise was broken")], ids=["held", "broken"]
)
def test_the_exit_code_tells_whether_all_held(tmp_path, monkeypatch, capsys, held, code, says):
    monkeypatch.setattr(demo, "run", lambda *_: held)
    assert demo.main([str(tmp_path)]) == code
    assert says in capsys.readouterr().out


def test_what_goes_wrong_is_a_sentence(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise processes.Broken("The server did not start.")

    monkeypatch.setattr(demo, "run", fail)
    assert demo.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == "\nThe server did not start.\n"


def test_a_folder_with_spaces_may_arrive_in_pieces(tmp_path):
    (tmp_path / "a b").mkdir()
    assert demo.request(f"{tmp_path}/a b")["report"] == "reports/a-b"


@pytest.mark.parametrize("name", ["...", "Grüße", "-x", "a" * 200])
def test_every_folder_has_a_name_for_its_report(tmp_path, name):
    (tmp_path / name).mkdir()
    report = demo.request(str(tmp_path / name))["report"].removeprefix("reports/")
    assert report.isascii()
    assert 0 < len(report) <= 80
    assert not report.startswith((".", "-"))


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.00 kB"),
        (12_345, "12.3 kB"),
        (249_420_252, "249 MB"),
    ],
)
def test_sizes(count, text):
    assert telling.size(count) == text


def test_on_a_terminal_a_line_moves_and_prose_is_folded(monkeypatch, capsys):
    monkeypatch.setattr(telling.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(telling.shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    tell = telling.Teller()
    tell.bar("worker 1", 1, 2)
    tell.say("   late message  it is refused, however late it is, and whoever sent it")
    out = capsys.readouterr().out
    assert "\r\x1b[K   worker 1 [################-------" in out
    assert max(map(len, out.split("\x1b[K")[-1].splitlines())) <= 40
    assert "\n                 " in out


def test_off_a_terminal_a_bar_says_each_quarter_once(capsys):
    tell = telling.Teller()
    for done in range(101):
        tell.bar("worker 1", done, 100)
    assert capsys.readouterr().out.splitlines() == [f"   worker 1 {n} of 100 stages" for n in (25, 50, 75, 100)]
