"""Started by the program as the solver of a study that stap.run() was given a function for: hands the
connection over to that process, and stays as long as it serves it. Standard library only: it is
started as `python3 -I -S`, in some 20 ms.
"""

import os
import signal
import socket
import sys


def _program():
    """The process that started our parent, the helper beside every solver."""
    with open(f"/proc/{os.getppid()}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _main():
    where = os.environ.get("STAP_PYTHON_SOCKET")
    if not where:
        sys.exit("the solver of this study is a function in Python: continue it by calling stap.run() "
                 "with the function and the same folder, not with 'stap run'")
    program = _program()
    talk = socket.socket(socket.AF_UNIX)
    try:
        talk.connect(where)
        socket.send_fds(talk, [b"s"], [0])
        os.close(0)
        os.close(1)
        ended = talk.recv(1)
    except OSError:
        ended = b""
    if ended != b"e":
        # Whoever called stap.run() is gone: nobody could answer any more. The run is kept.
        os.kill(program, signal.SIGTERM)
        sys.exit("the Python process that called stap.run() has ended")


_main()
