"""`python3 -m stap` and the console script `stap`: the program itself."""

from __future__ import annotations

import os
import sys

from ._found import Error, program


def main() -> None:
    try:
        path = program()
    except Error as error:
        sys.exit(f"stap: {error}")
    os.execv(path, ["stap", *sys.argv[1:]])


if __name__ == "__main__":
    main()
