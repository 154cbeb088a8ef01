"""The program, the shared libraries and other packages; and what is said where they are missing."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = "0.2.0"  # of the package; that of the libraries must be the same
_HERE = Path(__file__).parent


class Error(Exception):
    """What the program or its library could not do. `code` is its exit code
    (docs/reference/run-folder.md#exit-codes): 2 usage, 3 a file, 5 a device or memory, ..."""

    __module__ = "stap"

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


def need(package: str, what: str) -> Any:
    """The package, or an ImportError that says what it is for."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        # Not the package itself: what is in it is broken.
        if error.name not in (None, package):
            raise
        raise ImportError(
            f"{what} need{'' if what.endswith('s') else 's'} {package}, which is not installed: "
            f"'pip install {package}' or 'apt install python3-{package}'",
            name=package,
        ) from None


@functools.lru_cache(maxsize=None)
def program() -> str:
    """The path of the program `stap`: that of the package, else the one on the PATH (STAP_PROGRAM
    names another)."""
    import shutil  # here, as it takes milliseconds

    named = os.environ.get("STAP_PROGRAM")
    if named:
        return named
    own = _HERE / "bin" / "stap"
    found = str(own) if own.exists() else shutil.which("stap")
    if found is None:
        raise Error("the program stap is neither in this package nor on the PATH: install the wheel "
                    "or the package 'stap', or set STAP_PROGRAM to it", 5)
    return found


def command(*words: object, capture: bool = False) -> str:
    """Runs `stap WORDS...`, as in stap.command("report", "my-run"). With `capture` its output is
    returned instead of printed. Error with the program's message and exit code if it fails."""
    import subprocess

    argv = [program(), *(str(word) for word in words)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        raise Error(done.stderr.strip() or f"{argv[0]} ended with {done.returncode}",
                    done.returncode)
    if not capture:
        print(done.stdout, end="")
    return done.stdout


def _library_folders() -> Iterator[Path]:
    """In a wheel beside this file; else where the program was built, or installed (of Debian's packages and
    the tarball). STAP_LIBRARIES names one and no other."""
    named = os.environ.get("STAP_LIBRARIES")
    if named:
        yield Path(named)
        return
    yield _HERE / "lib"
    folder = Path(program()).resolve().parent
    yield folder / "python"
    yield from (found for pattern in ("lib*/stap", "lib/*/stap") for found in folder.parent.glob(pattern))


@functools.lru_cache(maxsize=None)
def library(name: str) -> ctypes.CDLL:
    """A shared library of the package."""
    file = f"lib{name}.so"
    for folder in _library_folders():
        if (folder / file).exists():
            try:
                loaded = ctypes.CDLL(str(folder / file))
            except OSError as error:
                raise Error(f"{folder / file} could not be loaded: {error}", 5) from None
            if name == "stap_c":
                _check_version(loaded, folder / file)
            return loaded
    raise Error(f"{file} of stap is not there: install the wheel or the packages, or set STAP_LIBRARIES to "
                "the folder build/release/python of a source tree", 5)


def _check_version(loaded: ctypes.CDLL, file: Path) -> None:
    loaded.stap_library_version.restype = ctypes.c_char_p
    theirs = loaded.stap_library_version().decode()
    if theirs != VERSION:
        raise Error(f"{file} is of stap {theirs}, but the Python package is {VERSION}: install both in the "
                    "same version", 5)


@functools.lru_cache(maxsize=None)
def has_avx2() -> bool:
    """Whether this machine computes eight numbers at a time."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    return {"avx2", "fma"} <= set(line.split())
    except OSError:
        pass
    return False
