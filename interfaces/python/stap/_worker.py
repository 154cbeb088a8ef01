"""Started by the program as the solver where stap.run() or stap.simulate() has a function: hands the
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
        sys.exit("the solver is a function in Python: use stap.run() or stap.simulate() with solver=FUNCTION "
                 "and the same folder; 'stap solver check' and others need a solver that is a program")
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
        # Whose function it is has gone: nobody could answer any more. The folder is kept.
        os.kill(program, signal.SIGTERM)
        sys.exit("the Python process whose function is the solver has ended")


_main()
