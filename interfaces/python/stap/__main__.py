"""`python3 -m stap` and the console scripts `stap` and `stap-serve`: the programs themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ._found import Error, program


def main(name: str = "stap") -> None:
    try:
        path = Path(program()).with_name(name)
        os.execv(path, [str(path), *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"{name}: {error}")


def serve() -> None:
    main("stap-serve")


if __name__ == "__main__":
    main()
