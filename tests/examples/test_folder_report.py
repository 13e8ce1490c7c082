"""The report's parts alone: which files a folder holds, what they are like, and what weird folders come to."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess

import pytest
import reading
import walking
from hypothesis import given
from hypothesis import strategies as st

NONE = {"files": [], "troubles": [], "counted": {}, "last": None, "more": False}


def written(folder, files):
    for name, data in files.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return walking.shown(os.fsencode(folder))


def pages_of(folder, skip=()):
    pages = [walking.page(folder, skip, None)]
    while pages[-1]["more"]:
        pages.append(walking.page(folder, skip, pages[-1]["last"]))
    return pages


def names_of(pages):
    return [name for page in pages for name, _ in page["files"]]


def report_of(folder, skip=()):
    pages = pages_of(folder, skip)
    names = walking.chunks(pages)
    parts = [reading.look(folder, chunk) for chunk in names]
    return reading.merge(folder, *json.loads(json.dumps([pages, names, parts])))


@given(st.binary(max_size=30).filter(lambda name: b"\0" not in name))
def test_a_shown_name_says_its_bytes_and_can_be_printed(name):
    text = walking.shown(name)
    assert walking.real(text) == name
    assert text.isprintable()
    assert json.loads(json.dumps(text).encode()) == text


@pytest.mark.parametrize(
    "name, text",
    [
        (b"plain.txt", "plain.txt"),
        ("Grüße 東京".encode(), "Grüße 東京"),
        (b"caf\xe9", "caf\\xe9"),
        (b"a\nb\x1b[31m", "a\\x0ab\\x1b[31m"),
        (b"back\\slash\\x41", "back\\\\slash\\\\x41"),
        ("right\u202eleft".encode(), "right\\xe2\\x80\\xaeleft"),
    ],
)
def test_names_are_shown(name, text):
    assert walking.shown(name) == text
    assert walking.real(text) == name


@pytest.mark.parametrize("files", [1, 2, 3, 100])
def test_pages_hold_every_file_once_and_in_one_order(tmp_path, monkeypatch, files):
    made = {f"{a}/{b}/{c}": b"x" for a in ("a", "a-b", "a.c") for b in ("", "b", "bb") for c in ("1", "2")}
    folder = written(tmp_path, {name.replace("//", "/"): data for name, data in made.items()})
    (tmp_path / "empty").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    whole = names_of(pages_of(folder))
    monkeypatch.setattr(walking, "PAGE_FILES", files)
    pages = pages_of(folder)
    assert names_of(pages) == whole
    assert sorted(whole) == sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert sum(page["counted"].get("links", 0) for page in pages) == 1


def test_a_page_is_small_enough_for_a_stage_whatever_the_names_are(tmp_path):
    written(tmp_path, {f"{'é' * 100}{n}\x1b": b"" for n in range(1_000)})
    pages = pages_of(walking.shown(os.fsencode(tmp_path)))
    assert len(pages) > 1
    assert len(names_of(pages)) == 1_000
    assert max(len(json.dumps(page)) for page in pages) < 256 * 1024


def test_an_empty_folder_makes_a_report_of_nothing(tmp_path):
    folder = str(tmp_path)
    assert pages_of(folder) == [NONE]
    assert walking.chunks([NONE]) == [[]]
    report = report_of(folder)
    assert (report["files"], report["bytes"], report["kinds"], report["duplicates"]["groups"]) == (0, 0, [], 0)


def test_a_folder_that_is_gone_is_a_trouble_and_no_error(tmp_path):
    report = report_of(str(tmp_path / "gone"))
    assert report["unread"] == {"count": 1, "first": [[".", "no such file or directory"]]}


def test_links_pipes_and_sockets_are_counted_and_never_opened(tmp_path):
    folder = written(tmp_path, {"file": b"1"})
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        report = report_of(folder)
    assert (report["files"], report["links"], report["special"], report["unread"]["count"]) == (1, 3, 2, 0)


def test_folders_are_left_out_by_name(tmp_path):
    folder = written(tmp_path, {"a/skip/b": b"1", "skip.txt": b"22", "skip/c": b"333"})
    report = report_of(folder, skip=("skip",))
    assert (report["files"], report["bytes"], report["left_out"]) == (1, 2, 2)


def test_a_folder_deeper_than_any_recursion_is_walked(tmp_path):
    path = tmp_path
    for _ in range(1_200):
        path /= "d"
        path.mkdir()
    (path / "file").write_bytes(b"deep")
    report = report_of(str(tmp_path))
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # Python's own way to remove it is a recursion
    assert report["files"] == 1


@pytest.mark.parametrize("swapped", ["missing", "pipe", "link", "folder"])
def test_a_file_that_is_another_thing_by_now_is_a_trouble(tmp_path, swapped):
    written(tmp_path, {"other": b"1"})
    path = tmp_path / "file"
    if swapped == "pipe":
        os.mkfifo(path)
    elif swapped == "link":
        path.symlink_to("other")
    elif swapped == "folder":
        path.mkdir()
    part = reading.look(str(tmp_path), ["file", "other"])
    assert part["sha256"] == [None, hashlib.sha256(b"1").hexdigest()]
    assert [name for name, _ in part["troubles"]] == ["file"]


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_read(tmp_path, monkeypatch):
    folder = written(tmp_path, {"closed": b"secret", "open": b"1"})
    open_ = os.open

    def guarded(path, *how, **named):
        if path.endswith(b"closed"):
            raise PermissionError(13, "Permission denied")
        return open_(path, *how, **named)

    monkeypatch.setattr(os, "open", guarded)
    report = report_of(folder)
    assert (report["found"], report["files"]) == (2, 1)
    assert report["unread"] == {"count": 1, "first": [["closed", "permission denied"]]}


@pytest.mark.parametrize("times, outcome", [(1, 1), (2, 0)], ids=["once", "twice"])
def test_a_file_that_changes_while_it_is_read_is_read_again_once(tmp_path, monkeypatch, times, outcome):
    folder = written(tmp_path, {"log": b"line\n"})
    add, left = reading.Read.add, [times]

    def growing(read, block):
        if left[0]:
            left[0] -= 1
            with (tmp_path / "log").open("ab") as file:
                file.write(b"more\n")
        add(read, block)

    monkeypatch.setattr(reading.Read, "add", growing)
    report = report_of(folder)
    assert report["files"] == outcome
    assert report["unread"]["first"] == ([] if outcome else [["log", "it changed while it was read"]])


def test_names_that_are_no_utf8_are_read_and_reported(tmp_path):
    folder = written(tmp_path, {b"caf\xe9.txt": b"same", b"\xff/\x1b[2J.txt": b"same"})
    report = report_of(folder)
    assert report["duplicates"]["first"][0]["names"] == ["caf\\xe9.txt", "\\xff/\\x1b[2J.txt"]
    assert report["unread"]["count"] == 0


@given(st.binary(max_size=300), st.integers(1, 64))
def test_lines_are_those_of_the_whole_file_however_it_is_cut(data, block_bytes):
    found = reading.Read()
    text = b"a" + data.replace(b"\0", b"")
    for n in range(0, len(text), block_bytes):
        found.add(text[n : n + block_bytes])
    lengths = [len(line) for line in text.split(b"\n")]
    assert (found.lines, found.longest) == (text.count(b"\n"), max(lengths))
    assert found.longest_at == lengths.index(max(lengths)) + 1
    assert found.sha256.digest() == hashlib.sha256(text).digest()


def test_what_is_no_text_has_no_lines():
    found = reading.Read()
    found.add(b"\x7fELF\0\n\n\n")
    assert (found.lines, found.longest, found.bytes) == (0, 0, 8)


@pytest.mark.parametrize(
    "name, kind",
    [
        ("a/b.PY", ".py"),
        ("x.tar.gz", ".gz"),
        ("Makefile", "(no kind)"),
        (".profile", "(no kind)"),
        ("a.b/c", "(no kind)"),
        ("end.", "(no kind)"),
        ("a.thatisnokindatall", "(no kind)"),
    ],
)
def test_kinds(name, kind):
    assert reading.kind_of(name) == kind


def test_the_report_tells_the_whole(tmp_path):
    folder = written(
        tmp_path,
        {
            "a.py": b"short\na longer line\n",
            "b/a.py": b"short\na longer line\n",
            "c.txt": b"",
            "d.txt": b"",
            "e.bin": b"\0",
        },
    )
    assert report_of(folder) == {
        "folder": folder,
        "found": 5,
        "files": 5,
        "bytes": 41,
        "lines": 4,
        "kinds": [
            {"kind": ".py", "files": 2, "bytes": 40},
            {"kind": ".bin", "files": 1, "bytes": 1},
            {"kind": ".txt", "files": 2, "bytes": 0},
        ],
        "kinds_in_all": 3,
        "duplicates": {
            "groups": 1,
            "copies": 1,
            "bytes": 20,
            "first": [
                {
                    "sha256": hashlib.sha256(b"short\na longer line\n").hexdigest(),
                    "bytes": 20,
                    "files": 2,
                    "names": ["a.py", "b/a.py"],
                }
            ],
        },
        "longest_line": {"name": "a.py", "line": 2, "bytes": 13},
        "unread": {"count": 0, "first": []},
        "links": 0,
        "special": 0,
        "left_out": 0,
    }


def test_chunks_hold_every_file_once_and_are_the_same_again(tmp_path):
    page = {"files": [[f"n{n}", 1_000_000 * (n % 50)] for n in range(1_234)]}
    made = walking.chunks([page])
    assert [name for chunk in made for name in chunk] == [name for name, _ in page["files"]]
    assert made == walking.chunks(json.loads(json.dumps([page])))
    assert 50 <= len(made) <= 2_000


def test_more_files_than_stages_is_said(monkeypatch):
    monkeypatch.setattr(walking, "FILES_MAX", 3)
    with pytest.raises(ValueError, match=r"4 files, and 3 at most"):
        walking.chunks([{"files": [["a", 1], ["b", 1], ["c", 1], ["d", 1]]}])
