"""Makes a Python function a worker of `stap`. One file, needs NumPy only.

    import stap_solver

    @stap_solver.serve
    def step(u, info):
        ...                     # the state that follows u after info.dt
        return v

heat.py beside this file is a whole one. `u` is an array [channels, x, y] of float64; what
follows is made from it alone: nothing may be remembered from the call before. The decorator
answers until it is told to end; stap_solver.serve(step) is the same as a call. Configuration:
solver: {name: worker, argv: [python3, "{here}/heat.py"]}. What is printed goes to the worker's
log; it must not read from stdin. An exception fails the query with its last line, and
stap_solver.Retry("why") says besides that the same query might work another time.

With mpi4py (solver.connect: socket) rank 0 talks:

    worker = stap_solver.Worker("flow") if rank == 0 else None
    problem = comm.bcast(worker.problem if rank == 0 else None)
    while True:
        question = comm.bcast(worker.next() if rank == 0 else None)
        if question is None:
            break
        u, info = question
        ...
        if rank == 0:
            worker.answer(v)        # or worker.failed("why")

The protocol is in docs/internals/worker-protocol.md.
"""

import os
import socket
import struct
import sys
import threading
import traceback
from dataclasses import dataclass, field, replace

import numpy as np

__all__ = ["serve", "Worker", "Info", "Retry"]

HELLO, SETUP, READY, QUERY, ANSWER, FAILED, HEARTBEAT, END = range(1, 9)
HEADER = struct.Struct("<4sHHQQII")
TEXT_MOST = 4000


class Retry(Exception):
    """Fails the query, which might work another time (a licence that was taken, say)."""


@dataclass
class Info:
    """The problem, and the step that is to be made."""

    problem: str  # its name
    points: tuple  # per axis
    lengths: tuple  # of the periodic domain, per axis
    channels: tuple  # names
    dt: float  # by which to advance
    parameters: dict = field(default_factory=dict)  # values by name
    slot: int = 0  # number of this worker among those of a run
    time: float = 0.0  # of the input state
    step: int = 0  # this is step 0, 1, ...
    steps: int = 1  # of so many in a row

    @property
    def shape(self):
        """Of a state."""
        return (len(self.channels), *self.points)


def serve(step, *, setup=None, heartbeat=0.0, name=None):
    """Answers by step(u, info) until it is told to end, and gives `step` back.

    setup(info) is called once before the first query: what takes long to prepare belongs there.
    step may give [k, channels, x, y] instead, the states after k of the info.steps - info.step
    steps that are wanted. heartbeat: seconds between the signs that a thread sends while a step is
    made; not for steps that keep Python from running threads for longer than that (f2py, some
    extension modules).
    """
    worker = Worker(name or os.path.basename(sys.argv[0]) or "python", heartbeat)
    if setup is not None:
        try:
            setup(worker.problem)
        except Exception as error:
            traceback.print_exc()
            worker.failed(_last_line(error))
            sys.exit(1)
    while True:
        question = worker.next()
        if question is None:
            return step
        try:
            worker.answer(step(*question))
        except Exception as error:
            traceback.print_exc()
            worker.failed(_last_line(error), isinstance(error, Retry))


class Worker:
    """The same for a loop of one's own. streams: read(size) and write(bytes) of a connection to `stap`
    that is there already."""

    def __init__(self, name="python", heartbeat=0.0, streams=None):
        where = os.environ.get("STAP_CONNECT", "")
        if streams is None and not where:
            sys.exit(
                f"stap_solver: {name} is a worker: stap starts it (solver: {{name: worker, "
                "argv: [...]}), and sets STAP_CONNECT"
            )
        self._read, self._write = streams or _connect(where)
        self._writing = threading.Lock()
        self._asked = None  # the id of the query that is open
        self._states, self._made = None, 0
        self._ready = False
        self._heartbeat = float(heartbeat)
        token = os.environ.get("STAP_TOKEN", "") if streams is None else ""
        if streams is None and os.environ.get("STAP_TOKEN_FILE"):
            with open(os.environ["STAP_TOKEN_FILE"]) as file:
                token = file.readline().strip()
        self._send(HELLO, 0, struct.pack("<IId", 1, 0, self._heartbeat) + _text(token) + _text(name))
        kind, _, payload = self._receive()
        if kind != SETUP:
            sys.exit("stap_solver: was not told the problem (may only one rank connect?)")
        self.problem = _read_setup(payload)
        self._info = self.problem
        if self._heartbeat > 0:
            threading.Thread(target=self._beat, daemon=True).start()

    def ready(self):
        """Says that queries may come; next() does so by itself."""
        if not self._ready:
            self._ready = True
            self._send(READY, 0, struct.pack("<Q", int(np.prod(self.problem.shape))))

    def next(self):
        """The next step to make, (u, info); None: end."""
        self.ready()
        if self._asked is not None and self._made == self._info.step:
            self.failed("the program gave no answer")
        if self.asked:  # from where the last step ended
            made = self._made - self._info.step
            self._info = replace(
                self._info, time=self._info.time + made * self._info.dt, step=self._made
            )
            return self._states[self._made - 1].copy(), self._info
        kind, query, payload = self._receive()
        if kind != QUERY:
            if kind not in (None, END):
                sys.exit(f"stap_solver: expected a query, got a frame of type {kind}")
            self._write = None
            return None
        time, dt, steps, parameters, values = struct.unpack_from("<ddQQQ", payload)
        numbers = np.frombuffer(payload, "<f8", offset=40)
        shape = self.problem.shape
        if parameters != len(self.problem.parameters) or values != np.prod(shape):
            sys.exit("stap_solver: a query of another size than the problem's")
        named = dict(zip(self.problem.parameters, numbers[:parameters].tolist()))
        self._info = replace(
            self.problem, time=time, dt=dt, step=0, steps=steps, parameters=named
        )
        self._states, self._made = np.empty((steps, *shape)), 0
        self._asked = query
        return numbers[parameters:].astype(float).reshape(shape), self._info

    @property
    def asked(self):
        """Whether next() was asked for steps that are not answered yet."""
        return self._asked is not None

    def answer(self, states):
        """The state behind the step, or those of several."""
        if self._asked is None:
            raise RuntimeError("an answer without a question")
        states = np.asarray(states)
        shape = self.problem.shape
        if states.shape == shape:
            states = states[None]
        left = len(self._states) - self._made
        if states.shape[1:] != shape or not 1 <= len(states) <= left:
            raise ValueError(f"the answer has the shape {states.shape}, expected {shape}")
        if states.dtype.kind not in "fiu":
            raise ValueError(f"the answer is of type {states.dtype}, expected float64")
        self._states[self._made : self._made + len(states)] = states
        self._made += len(states)
        if len(states) == left:
            head = struct.pack("<QQ", self._made, int(np.prod(shape)))
            query, self._asked = self._asked, None
            self._send(ANSWER, query, head + self._states.astype("<f8", copy=False).tobytes())

    def failed(self, text, retry=False):
        """Why the step could not be made; before next(): why the program cannot be set up."""
        values = int(np.prod(self.problem.shape))
        made = self._made if self._asked is not None else 0
        states = self._states[:made].astype("<f8").tobytes() if made else b""
        query, self._asked = self._asked or 0, None
        head = struct.pack("<QQQ", made, values, int(retry))
        self._send(FAILED, query, head + states + _text(text))

    def _beat(self):
        wait = threading.Event()
        while not wait.wait(self._heartbeat / 2):
            if self._write is None:
                return
            if self._asked is not None:
                self._send(HEARTBEAT, 0, b"", only_while_asked=True)

    def _send(self, kind, query, payload, only_while_asked=False):
        header = HEADER.pack(b"STAP", 1, kind, query, len(payload), crc32c(payload), 0)
        with self._writing:
            if only_while_asked and self._asked is None:
                return
            try:
                self._write(header)
                self._write(payload)
            except OSError as error:
                if not only_while_asked:
                    sys.exit(f"stap_solver: lost the connection: {error}")

    def _receive(self):
        header = self._read(HEADER.size)
        if len(header) < HEADER.size:
            return None, 0, b""
        magic, version, kind, query, size, checksum, _ = HEADER.unpack(header)
        if magic != b"STAP" or version != 1:
            sys.exit("stap_solver: this is no frame of protocol 1")
        payload = self._read(size)
        if crc32c(payload) != checksum:
            sys.exit("stap_solver: a checksum does not fit")
        return kind, query, payload


def _move_streams_aside():
    """Two functions for frames; what is printed from now on goes to the log."""
    frames_in, frames_out = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def write(data):
        data = memoryview(data)
        while data:
            data = data[os.write(frames_out, data) :]

    return frames_in.read, write


# Now, so that modules that are imported later may print what they like.
_streams = _move_streams_aside() if os.environ.get("STAP_CONNECT") == "pipe" else None


def _connect(where):
    """read(size), which gives all of it or less at the end, and write(bytes)."""
    if _streams is not None:
        return _streams
    kind, _, rest = where.partition(":")
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(rest)
    elif kind == "tcp":
        host, _, port = rest.rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        sys.exit(f"stap_solver: STAP_CONNECT is not understood: {where}")
    return connection.makefile("rb").read, connection.sendall


def _read_setup(payload):
    axes, channels, parameters, slot, dt = struct.unpack_from("<IIIId", payload)
    at = 24
    points = struct.unpack_from(f"<{axes}Q", payload, at)
    lengths = struct.unpack_from(f"<{axes}d", payload, at + 8 * axes)
    values = struct.unpack_from(f"<{parameters}d", payload, at + 16 * axes)
    at += 8 * (2 * axes + parameters)
    names = []
    for _ in range(1 + channels + parameters):
        (size,) = struct.unpack_from("<I", payload, at)
        names.append(payload[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return Info(
        problem=names[0],
        points=points,
        lengths=lengths,
        channels=tuple(names[1 : 1 + channels]),
        dt=dt,
        parameters=dict(zip(names[1 + channels :], values)),
        slot=slot,
    )


def _text(text):
    data = str(text).encode()[:TEXT_MOST]
    return struct.pack("<I", len(data)) + data


def _last_line(error):
    return traceback.format_exception_only(type(error), error)[-1].strip()


# CRC-32C is linear: that of a message is the sum of those of its parts, each carried over the
# bytes behind it. So neighbours are added up, then neighbours of these, all at once; a loop over
# bytes would take milliseconds. A table maps 16 bits; _carry[k] carries over 2^(k + 1) bytes.
def _table(columns):
    table = np.zeros(1 << len(columns), np.uint32)
    for bit, column in enumerate(columns):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ column
    return table


_bits = np.array([1 << bit for bit in range(32)], np.uint32)
_columns = _bits
for _ in range(16):
    _columns = np.where(_columns & 1, _columns >> 1 ^ np.uint32(0x82F63B78), _columns >> 1)
_of_two_bytes = _table(_columns[:16])
_carry = [(_of_two_bytes, _table(_columns[16:]))]


def _carried(values, k):
    if k == len(_carry):  # twice over half of it
        columns = _carried(_carried(_bits, k - 1), k - 1)
        _carry.append((_table(columns[:16]), _table(columns[16:])))
    low, high = _carry[k]
    return low[values & 0xFFFF] ^ high[values >> 16]


def crc32c(data):
    if len(data) < 4:
        value = 0xFFFFFFFF
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        return value ^ 0xFFFFFFFF
    # A zero in front changes nothing; the usual first value is the same as four bytes inverted.
    odd = len(data) % 2
    message = np.zeros(odd + len(data), np.uint8)
    message[odd:] = np.frombuffer(data, np.uint8)
    message[odd : odd + 4] ^= 0xFF
    sums = _of_two_bytes[message.view("<u2")]
    k = 0
    while len(sums) > 1:
        if len(sums) % 2:
            sums = np.concatenate((np.zeros(1, np.uint32), sums))
        sums = _carried(sums[0::2], k) ^ sums[1::2]
        k += 1
    return int(sums[0]) ^ 0xFFFFFFFF
