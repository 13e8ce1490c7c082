"""The commands of an agent's memory tool, over plain and sealed files, answered and awaited."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

from steadhold.envelopes import Keyring
from steadhold.sdk import AsyncClient
from steadhold.sdk.memory_text import LINES_MAX, MemoryRefused, Place, numbered
from tests.sdk.site import key, real_client, site  # noqa: F401 - fixtures

LISTED = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:"


@pytest.fixture(params=["plain", "sealed"])
def memory(request, client):
    if request.param == "plain":
        return client.memory("agents/nightly")
    client.prefixes.make("context", "agents/nightly")
    return client.private(Keyring.generate()).memory("agents/nightly")


def says(memory, command, **said):
    return memory.run({"command": command, **said})


def test_a_file_is_made_shown_edited_renamed_and_deleted(memory, client):
    path = "/memories/plan.md"
    assert says(memory, "create", path=path, file_text="one\ntwo\nthree\n") == f"File created successfully at: {path}"
    assert says(memory, "view", path=path) == (
        f"Here's the content of {path} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert says(memory, "view", path=path, view_range=[2, 3]).endswith("numbers:\n     2\ttwo\n     3\tthree")
    assert says(memory, "view", path=path, view_range=[3, -1]).endswith("numbers:\n     3\tthree\n     4\t")
    assert says(memory, "str_replace", path=path, old_str="two", new_str="2").startswith(
        "The memory file has been edited.\n     1\tone\n     2\t2\n"
    )
    assert says(memory, "insert", path=path, insert_line=0, insert_text="zero\n") == f"The file {path} has been edited."
    assert says(memory, "insert", path=path, insert_line=4, insert_text="four") == f"The file {path} has been edited."
    assert says(memory, "rename", old_path=path, new_path="/memories/old/p") == (
        f"Successfully renamed {path} to /memories/old/p"
    )
    assert says(memory, "view", path="/memories/old/p").endswith(
        "     1\tzero\n     2\tone\n     3\t2\n     4\tthree\n     5\tfour\n     6\t"
    )
    assert [found.path for found in client.context.files("agents")] == ["agents/nightly/old/p"]
    assert says(memory, "delete", path="/memories/old/p") == "Successfully deleted /memories/old/p"
    assert says(memory, "view", path="/memories") == f"{LISTED.format('/memories')}\n0B\t/memories"


def test_what_cannot_be_done_is_told_and_changes_nothing(memory, client):
    says(memory, "create", path="/memories/a", file_text="x\nx")
    before = [(found.path, found.revision) for found in client.context.files()]
    told = [
        (says(memory, "create", path="/memories/a", file_text="y"), "Error: File /memories/a already exists"),
        (says(memory, "view", path="/memories/b"), "The path /memories/b does not exist. Please provide a valid path."),
        (says(memory, "str_replace", path="/memories/a", old_str="z", new_str=""),
         "No replacement was performed, old_str `z` did not appear verbatim in /memories/a."),
        (says(memory, "str_replace", path="/memories/a", old_str="x", new_str=""),
         ("No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 2. "
          "Please ensure it is unique")),
        (says(memory, "insert", path="/memories/a", insert_line=3, insert_text="y"),
         "Error: Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]"),
        (says(memory, "view", path="/memories/a", view_range=[2, 9]),
         "Error: Invalid `view_range`: [2, 9]. It lies within [1, 2]."),
        (says(memory, "delete", path="/memories/b"), "Error: The path /memories/b does not exist"),
        (says(memory, "rename", old_path="/memories/b", new_path="/memories/c"),
         "Error: The path /memories/b does not exist"),
        (says(memory, "rename", old_path="/memories/a", new_path="/memories/a/b"),
         "Error: The destination /memories/a/b lies within /memories/a."),
        (says(memory, "delete", path="/memories"), "Error: The path /memories is the memory itself."),
        (says(memory, "shout", path="/memories/a"),
         "Error: Unknown command 'shout'. There are view, create, str_replace, insert, delete, rename."),
        (says(memory, "create", path="/memories/c"), "Error: create needs file_text."),
        (says(memory, "insert", path="/memories/a", insert_line=True, insert_text=""),
         "Error: insert does not take insert_line = True."),
        (says(memory, "view", path="/memories/a", depth=3), "Error: view does not take depth = 3."),
        (says(memory, "view", path="/memories/a", view_range=["1", 2]),
         "Error: Invalid `view_range`: it has two whole numbers."),
    ]  # fmt: skip
    assert [said for said, _ in told] == [wanted for _, wanted in told]
    assert [(found.path, found.revision) for found in client.context.files()] == before


OUTSIDE = (
    "/etc/passwd", "memories/a", "/memoriesx/a", "/memories/../secret", "/memories/a/../../secret", "/memories/./a",
    "/memories//a", "/memories/%2e%2e/secret", "/memories/%2E%2E%2Fsecret", "/memories/a%00", "/memories/a\\..\\secret",
    "/memories/\x00", "/memories/a\nb", "/memories/e\u0301", "/memories/a\u202eb", "/memories/\ud800", "", "/", "..",
    "/memories/" + "x" * 512, "/Memories/a", "/memories/ag\u200bents",
)  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(path):
    with pytest.raises(MemoryRefused, match=r"^Error: The path "):
        Place("agents/nightly", "/memories").inside(path)


def test_no_command_takes_a_path_that_leads_out(memory, client):
    client.context.write("secret", "s", if_revision=None)
    for path in ("/memories/../../secret", "/memories/%2e%2e/%2e%2e/secret", "/secret", "secret"):
        for command, more in (("view", {}), ("create", {"file_text": "x"}), ("str_replace", {"old_str": "s"}),
                              ("insert", {"insert_line": 0, "insert_text": "x"}), ("delete", {})):  # fmt: skip
            assert says(memory, command, path=path, **more).startswith("Error: The path ")
        assert says(memory, "rename", old_path=path, new_path="/memories/x").startswith("Error: The path ")
    assert [(found.path, found.revision) for found in client.context.files()] == [("secret", 1)]


def test_a_directory_is_shown_two_levels_deep_renamed_and_deleted(memory):
    for name in ("a", "d/b", "d/e/c", "d/e/f/g", ".hidden", "node_modules/m", "dx"):
        says(memory, "create", path=f"/memories/{name}", file_text="12345678")
    shown = says(memory, "view", path="/memories/").splitlines()
    assert shown[0] == LISTED.format("/memories")
    assert [line.partition("\t")[2].removeprefix("/memories") for line in shown[1:]] == [
        "", "/a", "/d", "/d/b", "/d/e", "/dx",
    ]  # fmt: skip
    assert says(memory, "rename", old_path="/memories/d", new_path="/memories/n") == (
        "Successfully renamed /memories/d to /memories/n"
    )
    assert says(memory, "rename", old_path="/memories/a", new_path="/memories/n") == (
        "Error: The destination /memories/n already exists"
    )
    assert says(memory, "view", path="/memories/n/e/f/g").endswith("     1\t12345678")
    assert says(memory, "delete", path="/memories/n") == "Successfully deleted /memories/n"
    assert [line.partition("\t")[2] for line in says(memory, "view", path="/memories").splitlines()[1:]] == [
        "/memories", "/memories/a", "/memories/dx",
    ]  # fmt: skip


def test_what_others_write_at_the_same_time_is_kept(memory):
    memory.create("/memories/log", "begin\n")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: memory.insert("/memories/log", 1, f"line {n}"), range(8)))
    text = memory.view("/memories/log")
    assert all(text.count(f"\tline {n}") == 1 for n in range(8))


def test_half_of_a_surrogate_pair_is_told_and_changes_nothing(memory, client):
    says(memory, "create", path="/memories/a", file_text="one")
    for command, said in (
        ("create", {"path": "/memories/b", "file_text": "\ud83d"}),
        ("str_replace", {"path": "/memories/a", "old_str": "one", "new_str": "\ude00"}),
        ("insert", {"path": "/memories/a", "insert_line": 0, "insert_text": "\ud83d"}),
    ):
        assert says(memory, command, **said).startswith("Error: The text holds half of a surrogate pair")
    assert says(memory, "view", path="/memories/a").endswith("     1\tone")
    assert [entry.path for entry in client.context.files("agents")] == ["agents/nightly/a"]


def test_what_is_no_text_is_not_shown(client):
    client.context.write("agents/nightly/b", b"\xff", if_revision=None)
    memory = client.memory("agents/nightly")
    assert says(memory, "view", path="/memories/b") == "Error: The file /memories/b is no text."
    with pytest.raises(MemoryRefused, match="is no text"):
        memory.insert("/memories/b", 0, "x")


def test_the_server_reads_nothing_of_a_sealed_memory(client):
    client.prefixes.make("context", "m")
    keyring = Keyring.generate()
    client.private(keyring).memory("m").create("/memories/a", "the canary sings")
    assert client.context.read("m/a").body[:3] == b"eyJ"
    assert client.private(keyring).memory("m", root="/notes").view("/notes/a").endswith("     1\tthe canary sings")


def test_a_memory_has_a_place():
    for prefix, root in (("", "/m"), ("/a", "/m"), ("a/", "/m"), ("a", "m"), ("a", "/"), ("a", "/m/"), ("a/..", "/m")):
        with pytest.raises(ValueError, match=r"path|prefix|root"):
            Place(prefix, root)
    with pytest.raises(MemoryRefused, match="maximum"):
        numbered("\n" * LINES_MAX, None)


async def test_it_is_awaited_too(site, key):  # noqa: F811
    async with AsyncClient(site.url, key.key) as client:
        memory = client.memory("agents/nightly")
        made = memory.run({"command": "create", "path": "/memories/a", "file_text": "x"})
        assert inspect.isawaitable(made)
        assert await made == "File created successfully at: /memories/a"
        assert (await memory.view("/memories/a")).endswith("     1\tx")
