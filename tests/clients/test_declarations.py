"""The TypeScript declarations are those of openapi.json, and promise what the union and the events promise."""

from __future__ import annotations

import pytest

from tests.clients.typescript import Folder, Text
from tests.suites import npm
from tools.write_typescript import FILE, declared

pytestmark = pytest.mark.timeout(600)  # the compiler takes a core for as long as it needs

LAST_OF_COMPLETED = "result_ref: string;\n        };\n        /**\n         * CompletedSaid"
UNION = 'Job: components["schemas"]["AcceptedJob"] | '
FAULTS = {
    "a result that may be missing": (LAST_OF_COMPLETED, LAST_OF_COMPLETED.replace("_ref:", "_ref?:")),
    "any state": ('state: "failed";', "state: string;"),
    "a shape without members of its own": (UNION, f'Job: components["schemas"]["JobReply"] | {UNION[5:]}'),
    "a version as a number": ("schema_version: string;", "schema_version: number;"),
    "a key that may be missing": ('"Idempotency-Key": string;', '"Idempotency-Key"?: string;'),
    "any code": ('code: "already_initiated"', 'code: string | "already_initiated"'),
}


def test_they_are_made_of_the_document(modules):
    same = declared(modules, npm.node()) == FILE.read_text(encoding="utf-8")
    assert same, "run: python tools/write_typescript.py"


def test_everything_compiles_under_strict(built):
    assert (built.path / "dist" / "example.js").is_file()


def test_types_that_promise_less_do_not_compile(tmp_path, modules):
    folder = Folder(tmp_path / "typescript", modules)
    for n, (find, replace) in enumerate(FAULTS.values()):
        declarations = folder.copied("steadhold.d.ts", f"fault{n}.d.ts")
        declarations.change(find, replace)
        for file in ("exact", "holds"):
            folder.copied(f"{file}.ts", f"{file}{n}.ts").change('/steadhold.js"', f'/fault{n}.js"')
        Text(folder.path / f"holds{n}.ts").change('"./exact.js"', f'"./exact{n}.js"')
    said = folder.compile("--noEmit").stdout
    green = [fault for n, fault in enumerate(FAULTS) if f"holds{n}.ts" not in said]
    assert green == []
    assert "holds.ts" not in said
