"""`python -m steadhold` is the `steadhold` command."""

from __future__ import annotations

from steadhold.cli import main

if __name__ == "__main__":
    main()
