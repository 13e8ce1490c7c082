"""Write openapi.json, the description of all doors that is reviewed with each change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from steadhold.server import rooms
from steadhold.server.capabilities import VERSION
from steadhold.web import openapi

FILE = Path(__file__).parents[1] / "openapi.json"


def main() -> int:
    """Write the file; with --check only say whether it is up to date."""
    text = json.dumps(openapi.document(rooms.routes(), version=VERSION), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        return 0 if FILE.exists() and FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
