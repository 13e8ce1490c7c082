"""Write clients/typescript/steadhold.d.ts, the TypeScript declarations of all doors, of openapi.json."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "clients" / "typescript"
FILE = FOLDER / "steadhold.d.ts"
OPTIONS = ("--default-non-nullable=false",)  # a member with a default may be left out, also of an answer


def packages() -> tuple[str, ...]:
    """What the client is made of and with, as npm names it."""
    told = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    return tuple(f"{name}@{version}" for name, version in (told["dependencies"] | told["devDependencies"]).items())


def declared(modules: Path, node: str = "node") -> str:
    """The declarations, made by the openapi-typescript of a folder of modules."""
    program = modules / "openapi-typescript" / "bin" / "cli.js"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / FILE.name
        words = (node, program, ROOT / "openapi.json", "--output", made, *OPTIONS)
        subprocess.run(words, check=True, capture_output=True, cwd=folder, timeout=60)
        return made.read_text(encoding="utf-8")


def fetched() -> Path:
    """The client's own folder of modules, fetched by npm where it is not there."""
    modules = FOLDER / "node_modules"
    if not modules.is_dir():
        words = ("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund")
        subprocess.run(words, check=True, cwd=FOLDER, timeout=300)
    return modules


def main(words: list[str]) -> int:
    """Write the file; with --check only say whether it is up to date. A path names the folder of modules."""
    folders = [Path(word) for word in words if not word.startswith("--")]
    text = declared(folders[0] if folders else fetched())
    if "--check" in words:
        return 0 if FILE.exists() and FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
