"""stap.run() and stap.simulate(): the program as a child, and a function of this process as its solver.

The program starts `_worker.py` as it would start any worker, with one end of a socket pair. That child
passes the socket on to this process and then only waits, so queries go straight from the program to the
function and back: nothing is copied twice, nothing is pickled, and the function may be defined in a
notebook. When the program ends the child, the socket closes here; when this process ends, the child
ends the program, which keeps all that was answered. Without a function the program sees to that itself.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import queue
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._found import Error, library, need, program
from ._results import Run, Simulation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Programs that were stopped or have finished a part: their runs continue with the same call.
_STOPPED_IN_TIME = (8, 9)
_TRACEBACKS = 5  # of different failures that are shown


def run(config: str | os.PathLike[str] | Mapping[str, Any], *,
        solver: Callable[..., Any] | Mapping[str, Any] | None = None,
        setup: Callable[..., Any] | None = None, slots: int = 1,
        out: str | os.PathLike[str] | None = None, overlays: Sequence[str] = (),
        options: Sequence[str] = (), quiet: bool = False, **settings: Any) -> Run:
    """Does a study, as `stap run` does, and gives its results.

    config: a YAML file, the name of a preset ("demo") or a dict of the same keys. Settings replace its
    values: seed=5, train={"epochs": 20}, **{"train.epochs": 20}; a section with a `name` replaces the
    whole section. overlays are those of `--with`, options further words of the command line, such as
    ["--device", "cpu", "--stop-after", "1h"].

    solver: a function step(u, info) that gives the state one step after u, an array [channels, x, y]
    of float64; info has time, dt, parameters (by name), points, lengths, channels and, of several steps
    in a row, their number. It may give [k, channels, x, y] instead, the states after k steps. It runs
    in the thread that called run(), or with slots > 1 in so many threads at once. setup(info) is called
    before the first query. Other solvers are a dict, the section `solver` of the configuration; its
    further keys (limits, on_failure) may be given beside a function in config["solver"].

    An exception of the function fails the query, as `stap_solver` says; its traceback is shown, and if
    failures end the run, the Error that is raised has the last one as its cause. stap.Retry("why")
    says that the same query might work another time.

    The same call continues a run that was stopped, killed or interrupted; no step is paid twice.
    KeyboardInterrupt (Ctrl-C, also in a notebook) stops the program cleanly and is raised again.
    Progress goes to sys.stderr. `out` is the folder (default: a name made of the configuration).
    """

    def words(folder: Path) -> list[str]:
        with_overlays = [word for overlay in overlays for word in ("--with", os.fspath(overlay))]
        return ["run", *_config_words(config, folder), *with_overlays]

    section = config.get("solver", {}) if isinstance(config, Mapping) else {}
    return Run(_done(words, solver, section, setup, slots, out, options, quiet, settings))


def simulate(model: Run | str | os.PathLike[str], states: ArrayLike, steps: int, *,
             solver: Callable[..., Any] | Mapping[str, Any] | None = None,
             tolerance: float | None = None, share: float | None = None, verify: int | None = None,
             most: int | None = None, parameters: Mapping[str, Any] | None = None,
             study: str | os.PathLike[str] | Mapping[str, Any] | None = None,
             out: str | os.PathLike[str] | None = None, anywhere: bool = False,
             options: Sequence[str] = (), quiet: bool = False, slots: int = 1,
             setup: Callable[..., Any] | None = None, **settings: Any) -> Simulation:
    """Trajectories of `steps` steps by surrogate and solver, as `stap simulate` makes them.

    model: a run, its folder, or a model file with the `study` whose solver is asked. states: one,
    [C, X...], or a batch [B, C, X...]; parameters: those that vary, a number or [B] each. tolerance
    and share, of which one is needed, verify, most and anywhere are those of `stap simulate --help`.

    solver, setup, slots, settings, options and quiet are those of stap.run(), and so are failures,
    interruptions and that the same call continues. `out` is the folder (default: a name made of the
    run's and the question).
    """
    from ._surrogate import load

    model = model.path if isinstance(model, Run) else Path(model)
    np = need("numpy", "arrays")
    h5py = need("h5py", "stap.simulate")
    networks = load(model, device="cpu")
    rows, one = networks._rows(states)
    told = networks._told(parameters, len(rows))
    given = {"--steps": steps, "--tolerance": tolerance, "--share": share, "--verify": verify,
             "--most": most}
    question = [str(word) for name, value in given.items() if value is not None
                for word in (name, value)] + ["--anywhere"] * anywhere
    if out is None:
        digest = hashlib.sha256(rows.tobytes() + (b"" if told is None else told.tobytes()))
        digest.update(" ".join(question).encode())
        out = f"{model.with_suffix('') if model.is_file() else model}-simulated-{digest.hexdigest()[:8]}"

    def words(folder: Path) -> list[str]:
        with h5py.File(folder / "states.h5", "w") as file:
            file["states"] = rows
            if told is not None:
                file["parameters"] = told
                file.attrs["parameter_names"] = np.bytes_(
                    ",".join(p.name for p in networks.about.parameters))
        asked, *changed = _config_words(study, folder) if study is not None else [""]
        return ["simulate", str(model), *changed, *(["--study", asked] if asked else []),
                "--input", str(folder / "states.h5"), *question]

    section: Mapping[str, Any] = {}
    if isinstance(study, Mapping):
        section = study.get("solver", {})
    elif study is None and model.is_dir():
        # Its other keys may be those of another kind of solver.
        section = {key: value for key, value in Run(model).config.get("solver", {}).items()
                   if key in ("limits", "on_failure", "retries")}
    return Simulation(_done(words, solver, section, setup, slots, out, options, quiet, settings), one)


def _done(words: Callable[[Path], list[str]],
          solver: Callable[..., Any] | Mapping[str, Any] | None, section: Mapping[str, Any],
          setup: Callable[..., Any] | None, slots: int, out: str | os.PathLike[str] | None,
          options: Sequence[str], quiet: bool, settings: dict[str, Any]) -> Path:
    """Runs the program with the words, which may name files in the folder that they are given, and
    the solver, whose `section` of the study says more. Its folder."""
    function = solver if callable(solver) else None
    if solver is not None and function is None and not isinstance(solver, Mapping):
        raise TypeError(f"solver is a {type(solver).__name__}, expected a function step(u, info) or a "
                        "dict, the section `solver` of a configuration")
    if function is None and setup is not None:
        raise TypeError("setup is for a solver that is a function: give solver=function, too")
    if slots < 1:
        raise ValueError(f"slots is {slots}, expected 1 or more")
    if function is not None:
        need("numpy", "a solver in Python")
        _quicken_checksums()
    with contextlib.ExitStack() as until_end:  # gives back the folder of the socket
        folder = Path(until_end.enter_context(_private_folder()))
        argv = words(folder)
        if out is not None:
            argv += ["--out", os.fspath(out)]
        # Where it chooses the folder, that must be heard.
        if quiet and out is not None:
            argv.append("--quiet")
        argv += list(options)
        if function is not None:
            more = {k: v for k, v in section.items() if k not in ("name", "argv")}
            settings["solver"] = {**more, **_worker_section(slots)}
        elif solver is not None:
            settings["solver"] = solver
        argv += [f"{key}={value}" for key, value in _flat(settings)]
        desk = None
        environment = dict(os.environ)
        if function is not None:
            desk = until_end.enter_context(_Desk(function, setup, slots, folder / "socket"))
            environment["STAP_PYTHON_SOCKET"] = str(folder / "socket")
        else:
            environment["STAP_PARENT"] = str(os.getpid())  # it ends with this process
        return _finish(argv, environment, desk, out, quiet)


def _quicken_checksums() -> None:
    """That of stap_solver is NumPy's work: milliseconds for large states."""
    import stap_solver

    try:
        checksum = library("stap_c").stap_checksum
    except (Error, AttributeError):
        return
    checksum.argtypes, checksum.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint32
    stap_solver.crc32c = lambda data: checksum(bytes(data), len(data))


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    # The path of a socket has 107 bytes at most.
    base = tempfile.gettempdir()
    return tempfile.TemporaryDirectory(prefix="stap-", dir=base if len(base) < 80 else "/tmp")


def _worker_section(slots: int) -> dict[str, Any]:
    if not sys.executable:
        raise Error("this Python does not know its own program (sys.executable), which a solver that is "
                    "a function needs", 5)
    worker = str(Path(__file__).with_name("_worker.py"))
    return {"name": "worker", "argv": [sys.executable, "-I", "-S", worker], "slots": slots,
            "connect": "pipe"}


def _config_words(config: str | os.PathLike[str] | Mapping[str, Any], folder: Path) -> list[str]:
    """The words that name the configuration; of a dict a file, and what is in it as settings, so that
    paths in it are those of the working folder."""
    if not isinstance(config, Mapping):
        return [os.fspath(config)]
    sections = {key: value for key, value in config.items() if key != "extends"}
    file = os.fspath(config["extends"]) if "extends" in config else str(folder / "study.yaml")
    if "extends" not in config:
        Path(file).write_text("{}\n")
    return [file, *(f"{key}={value}" for key, value in _flat(sections, whole=False))]


def _flat(settings: Mapping[str, Any], prefix: str = "", whole: bool = True) -> Iterator[tuple[str, str]]:
    """Settings of single keys. `whole`: a section with a name is one, since it replaces what was there;
    but `test`, which as a setting is a number."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and not (whole and "name" in value and key != "test"):
            yield from _flat(value, f"{prefix}{key}.", whole)
        else:
            yield prefix + key, _yaml(value)


def _yaml(value: Any) -> str:
    """One YAML value on a line: JSON, but for numbers that are not finite."""

    def plain(v: Any) -> Any:
        if isinstance(v, Mapping):
            return {str(k): plain(x) for k, x in v.items()}
        if hasattr(v, "tolist"):  # NumPy's
            return plain(v.tolist())
        if isinstance(v, (list, tuple)):
            return [plain(x) for x in v]
        if isinstance(v, os.PathLike):
            return os.fspath(v)
        if v is None or isinstance(v, (bool, int, float, str)):
            return v
        raise TypeError(f"a setting is a {type(v).__name__}, expected a number, a text, a list or a dict")

    text = json.dumps(plain(value), ensure_ascii=False)
    return {"Infinity": ".inf", "-Infinity": "-.inf", "NaN": ".nan"}.get(text, text)


def _finish(argv: list[str], environment: dict[str, str], desk: _Desk | None,
            out: str | os.PathLike[str] | None, quiet: bool) -> Path:
    """Runs the program to its end; the folder that it worked in."""
    shown = _Shown(quiet)
    # Its own session: Ctrl-C of a terminal reaches this process, which decides what becomes of it.
    process = subprocess.Popen([program(), *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=shown.for_program, env=environment, start_new_session=True)
    said: list[str] = []
    readers = [threading.Thread(target=_read_all, args=(process.stdout, said), daemon=True)]
    interrupted = False
    try:
        readers[0].start()
        readers.append(shown.show(process))
        if desk is None:
            process.wait()
        else:
            desk.serve_until_end(process)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        # By SIGINT the program waits for what was asked, which a function here no longer answers.
        _stop(process, signal.SIGINT if desk is None else signal.SIGTERM)
        raise
    finally:
        for reader in readers:
            reader.join(timeout=5)
        for stream in (process.stdout, process.stderr):
            if stream is not None and not any(reader.is_alive() for reader in readers):
                stream.close()
        if interrupted:
            shown.say("stap: stopped; the same call continues\n")
    code = process.returncode
    if code not in (0, *_STOPPED_IN_TIME):
        message = shown.message() or f"the program ended with {code}"
        cause = desk.last_failure if desk is not None else None
        raise Error(message, code) from cause
    if out is not None:
        return Path(out)
    found = (re.search(r"^report: (.+)/report\.html\r?$", "".join(said), re.M)
             or re.search(r"^folder: (.+?)\r?$", shown.begin, re.M))
    if found:
        return Path(found[1])
    raise Error("the program did not say which folder it worked in: give out=", 1)


def _stop(process: subprocess.Popen[bytes], how: int) -> None:
    while process.poll() is None:
        try:
            process.send_signal(how)
            process.wait()
        except KeyboardInterrupt:
            how = signal.SIGTERM
        except ProcessLookupError:
            return


def _read_all(stream: Any, into: list[str]) -> None:
    into.append(stream.read().decode(errors="replace"))


class _Shown:
    """What the program says, and where it goes: to sys.stderr, which in a notebook is no descriptor.
    Where that is a terminal the program gets one, too, and draws its bar. `quiet`: only warnings and
    errors are shown."""

    def __init__(self, quiet: bool) -> None:
        self.begin = self._tail = ""  # of all that was said
        self._quiet, self._line = quiet, ""
        self._terminal: int | None = None
        self.for_program = subprocess.PIPE
        with contextlib.suppress(Exception):
            if sys.stderr.isatty() and not quiet:
                size = os.get_terminal_size(sys.stderr.fileno())
                self._terminal, self.for_program = os.openpty()
                fcntl.ioctl(self.for_program, termios.TIOCSWINSZ,
                            struct.pack("4H", size.lines, size.columns, 0, 0))
                tty.setraw(self.for_program)

    def show(self, process: subprocess.Popen[bytes]) -> threading.Thread:
        """Passes on what the program says, until it has ended."""
        source = self._terminal
        if source is None:
            assert process.stderr is not None
            source = process.stderr.fileno()
        else:
            os.close(self.for_program)
        thread = threading.Thread(target=self._pass_on, args=(source,), daemon=True)
        thread.start()
        return thread

    def _pass_on(self, source: int) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while True:
            try:
                block = os.read(source, 65536)
            except OSError:  # how a terminal says that nobody has it open any more
                block = b""
            text = decode(block, not block)
            self._tail = (self._tail + text)[-8000:]
            self.begin = (self.begin + text)[:8000]
            self.say(self._loud(text) if self._quiet else text)
            if not block:
                break
        if self._terminal is not None:
            os.close(self._terminal)

    def _loud(self, text: str) -> str:
        *lines, self._line = (self._line + text).split("\n")
        return "".join(f"{line}\n" for line in lines if line.startswith(("warning: ", "stap: ")))

    @staticmethod
    def say(text: str) -> None:
        with contextlib.suppress(Exception):
            sys.stderr.write(text)
            sys.stderr.flush()

    def message(self) -> str:
        """The error with which the program ended."""
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self._tail).replace("\r", "\n")
        found = re.search(r"(?:\A|.*\n)stap: (.+)", text, re.S)
        return found[1].strip() if found else ""


class _Desk:
    """Answers the program's workers by a function."""

    def __init__(self, step: Callable[..., Any], setup: Callable[..., Any] | None, slots: int,
                 where: Path):
        self._step, self._setup = step, setup
        # No ThreadPoolExecutor: after Ctrl-C, Python would not end before the function has.
        self._threads = slots if slots > 1 else 0
        self._asked: queue.SimpleQueue[_Caller | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[_Caller] = queue.SimpleQueue()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(where))
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, "calls")
        # No numbers of a pipe, which may be another file's when a thread comes too late.
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, "woken")
        self._callers: set[_Caller] = set()
        self._seen: set[str] = set()
        self.last_failure: BaseException | None = None
        for _ in range(self._threads):
            threading.Thread(target=self._serve_aside, name="stap-solver", daemon=True).start()

    def __enter__(self) -> _Desk:
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in range(self._threads):
            self._asked.put(None)
        for caller in self._callers:
            caller.close()
        self._selector.close()
        self._listener.close()
        self._woken.close()
        self._wake.close()

    def serve_until_end(self, process: subprocess.Popen[bytes]) -> None:
        def wait() -> None:
            process.wait()
            self._wake_up()

        threading.Thread(target=wait, daemon=True).start()
        while process.poll() is None:
            for key, _ in self._selector.select():
                if key.data == "calls":
                    self._take()
                elif key.data == "woken":
                    self._woken.recv(4096)
                    while not self._done.empty():
                        self._watch(self._done.get())
                else:
                    self._hear(key.data)

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):  # full: it will wake; closed: it has ended
            self._wake.send(b"w")

    def _take(self) -> None:
        caller = _Caller(self._listener.accept()[0])
        self._callers.add(caller)
        try:
            caller.greet()
        except SystemExit:
            return self._drop(caller)
        if self._setup is not None:
            try:
                self._setup(caller.worker.problem)
            except Exception as error:
                self._failed(caller, error)
                return self._drop(caller)
        try:
            caller.worker.ready()
        except SystemExit:
            return self._drop(caller)
        self._watch(caller)

    def _watch(self, caller: _Caller) -> None:
        if caller.gone:
            self._drop(caller)
        else:
            self._selector.register(caller.data, selectors.EVENT_READ, caller)

    def _hear(self, caller: _Caller) -> None:
        self._selector.unregister(caller.data)
        if self._threads > 0:
            self._asked.put(caller)
        else:
            self._serve(caller)
            self._watch(caller)

    def _serve_aside(self) -> None:
        for caller in iter(self._asked.get, None):
            try:
                self._serve(caller)
            except BaseException as error:  # which would end run() in its own thread
                self.last_failure, caller.gone = error, True
            self._done.put(caller)
            self._wake_up()

    def _serve(self, caller: _Caller) -> None:
        """Answers one query, all of its steps."""
        worker = caller.worker
        while True:
            try:
                question = worker.next()
            except SystemExit:
                question = None
            if question is None:
                caller.gone = True
                return
            try:
                made = self._step(*question)
                try:
                    worker.answer(made)
                except SystemExit:  # nobody waits for it any longer
                    caller.gone = True
                    return
            except (Exception, SystemExit) as error:
                self._failed(caller, error)
            if caller.gone or not worker.asked:
                return

    def _failed(self, caller: _Caller, error: BaseException) -> None:
        import stap_solver

        self.last_failure = error
        if error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next or error.__traceback__
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        place = "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__
        if place not in self._seen and len(self._seen) < _TRACEBACKS:
            self._seen.add(place)
            _Shown.say(f"\nthe solver failed:\n{text}")
        last = traceback.format_exception_only(type(error), error)[-1].strip()
        try:
            caller.worker.failed(last, isinstance(error, stap_solver.Retry))
        except SystemExit:
            caller.gone = True

    def _drop(self, caller: _Caller) -> None:
        self._callers.discard(caller)
        caller.close()


class _Caller:
    """A worker of the program: its child, and the connection that this passed on."""

    def __init__(self, talk: socket.socket):
        self._talk = talk
        _, descriptors, _, _ = socket.recv_fds(talk, 16, 1)
        self.data = socket.socket(fileno=descriptors[0])
        self.worker: Any = None
        self.gone = False

    def greet(self) -> None:
        import stap_solver

        self.worker = stap_solver.Worker("python", streams=(self._read, self.data.sendall))

    def _read(self, size: int) -> bytes:
        """So many bytes, or fewer at the end. Never more: what follows is for the selector."""
        block = bytearray(size)
        view = memoryview(block)
        got = 0
        while got < size:
            try:
                n = self.data.recv_into(view[got:])
            except OSError:  # also where it was closed meanwhile
                n = 0
            if n == 0:
                break
            got += n
        return bytes(block[:got])

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._talk.sendall(b"e")
        self._talk.close()
        self.data.close()
