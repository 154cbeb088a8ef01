"""Trained surrogates. One state at a time goes through stap_model.c, a batch through the engines of
libstap; both are the same networks, in single precision, and differ by rounding."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import operator
import os
import tempfile
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._found import Error, has_avx2, library, need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

_MEAN = -1
_WHY = 1000
# Of one call of the library, between which Ctrl-C is heard.
_ROWS, _CALLS = 64, 64


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One that varies from row to row, and the range that networks were trained for."""

    name: str
    least: float
    greatest: float


@dataclasses.dataclass(frozen=True)
class Bars:
    """With what error bars were calibrated."""

    level: float
    steps: int
    trajectories: int


@dataclasses.dataclass(frozen=True)
class About:
    """What a surrogate is of."""

    problem: str
    channels: tuple[str, ...]
    points: tuple[int, ...]  # per axis
    lengths: tuple[float, ...]
    walls: tuple[str, ...]  # how each axis ends; empty: all are periodic
    dt: float | None  # of one step; None: the file does not say
    members: int  # networks
    cluster: int  # steps that a call makes at once; mostly 1
    horizon: int | None  # calls that a time input runs over; None: networks know no time
    parameters: tuple[Parameter, ...]
    bars: Bars | None
    device: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a state: [channels, x, y]."""
        return (len(self.channels), *self.points)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Trajectories of the averaged model; those of the leading [B] only if the input had it. Bars are
    None where they were not asked for; infinite: there is no bound."""

    mean: np.ndarray  # [B, T, C, X...], from the input on
    bar: np.ndarray | None = None  # [B, T]: sqrt(sum over channels of the mean squared error) is below
    bar_channels: np.ndarray | None = None  # [B, T, C]: the same of each channel
    band: np.ndarray | None = None  # [B, T, C, X...]: all points of a channel at once are within
    level: float | None = None  # with this probability, at each step
    unlike: int = 0  # rows on which networks disagree more than on any of the calibration
    members: np.ndarray | None = None  # [M, B, T, C, X...]


def load(path: str | os.PathLike[str], *, device: str = "auto", threads: int = 0) -> Surrogate:
    """The surrogate in a model file (`stap export-model`), or the newest networks of a run's folder.
    device: "auto" (a GPU if there is one), "cpu" or "cuda", for batches; threads: 0 for all cores."""
    return Surrogate(path, device=device, threads=threads)


class Surrogate:
    """A trained committee. States are arrays [C, X...] in the problem's units, batches [B, C, X...];
    results are float64. Of surrogates that make several steps at once (about.cluster), a state is
    [k, C, X...]. Threads may share it.

    `member` is None for the averaged model (the one to use) or the number of a network. `first` is the
    number of the step that is made first, 0 from the beginning of a trajectory; it matters only to
    networks with a time input. `parameters` is a dict of the values of those that vary, a number or [B]
    each.
    """

    def __init__(self, path: str | os.PathLike[str], *, device: str = "auto", threads: int = 0):
        need("numpy", "surrogates")
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path}: there is no such model file or run folder")
        self._lib = _batches()
        self._handle = ctypes.c_void_p()
        self._call(self._lib.stap_surrogate_open, os.fsencode(self.path), device.encode(), threads,
                   ctypes.byref(self._handle))
        told = json.loads(self._lib.stap_surrogate_text(self._handle))
        if told["warning"]:
            warnings.warn(told["warning"], stacklevel=3)
        self._no_bars: str = told["no_bars"]
        self.about = About(
            problem=told["problem"], channels=tuple(told["channels"]), points=tuple(told["points"]),
            lengths=tuple(told["lengths"]), walls=tuple(told["walls"]), dt=told["dt"],
            members=told["members"], cluster=told["cluster"], horizon=told["horizon"],
            parameters=tuple(Parameter(**p) for p in told["parameters"]),
            bars=Bars(**told["bars"]) if told["bars"] else None, device=told["device"])
        k = self.about.cluster
        self._shape = self.about.shape if k == 1 else (k, *self.about.shape)
        self._values = 1
        for size in self._shape:
            self._values *= size

    def __repr__(self) -> str:
        about = self.about
        return (f"<stap.Surrogate of {about.problem or 'a problem without a name'}: {about.members} "
                f"networks, state {list(self._shape)}>")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.stap_surrogate_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __copy__(self) -> Surrogate:
        return self  # it never changes, and is closed once

    def __deepcopy__(self, _: Any) -> Surrogate:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Surrogate cannot be pickled: stap.load() its file in the other process")

    def step(self, u: ArrayLike, *, member: int | None = None, first: int = 0,
             parameters: Mapping[str, Any] | None = None) -> np.ndarray:
        """The state one step after `u`, or those of a batch."""
        single = self._single
        if isinstance(single, _Single) and self._of_one(u):
            told = self._told(parameters, 1)
            return single.step(self._state(u), self._member(member), _number(first, 1), told)
        return self.rollout(u, 1, member=member, first=first, parameters=parameters)[
            (slice(None), -1) if not self._of_one(u) else -1]

    def rollout(self, u: ArrayLike, steps: int, *, member: int | None = None, first: int = 0,
                parameters: Mapping[str, Any] | None = None) -> np.ndarray:
        """`steps` steps from `u` on: [steps + 1, C, X...], of which the first is `u`; of a batch
        [B, steps + 1, C, X...]. Of clusters, [calls + 1, k, C, X...]."""
        np = need("numpy", "arrays")
        if steps < 1:
            raise ValueError(f"steps is {steps}, expected 1 or more")
        first = _number(first, steps)
        rows, one = self._rows(u)
        told = self._told(parameters, len(rows))
        made = np.empty((len(rows), steps + 1, *self._shape))
        made[:, 0] = rows
        number = self._member(member)
        for row in range(0, len(rows), _ROWS):
            some = slice(row, min(row + _ROWS, len(rows)))
            count = some.stop - some.start
            for call in range(0, steps, _CALLS):
                calls = min(_CALLS, steps - call)
                begin = np.ascontiguousarray(made[some, call])
                block = np.empty((count, calls, *self._shape))
                begun = np.full(count, first + call, np.uint32)
                self._call(self._lib.stap_surrogate_rollout, self._handle, number, count, calls,
                           _pointer(begin), begun.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)),
                           None if told is None else _pointer(told[some]), _pointer(block))
                made[some, call + 1 : call + 1 + calls] = block
        return made[0] if one else made

    def members(self, u: ArrayLike, *, first: int = 0,
                parameters: Mapping[str, Any] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """One step of every network, [M, C, X...], and by how much they differ at each point, the
        standard deviation [C, X...]; [M, B, ...] and [B, ...] of a batch."""
        np = need("numpy", "arrays")
        each = np.stack([self.step(u, member=m, first=first, parameters=parameters)
                         for m in range(self.about.members)])
        return each, each.std(axis=0)

    def predict(self, u: ArrayLike, steps: int, *, bars: bool | None = None, band: bool = False,
                anywhere: bool = False, members: bool = False,
                parameters: Mapping[str, Any] | None = None) -> Prediction:
        """Trajectories with error bars, as `stap predict` gives them. bars: None for those there are,
        True to insist. band: also of every point. anywhere: `u` are states from the middle of
        trajectories. members: also every network by itself."""
        np = need("numpy", "arrays")
        k = self.about.cluster
        if steps < 1 or steps % k != 0:
            raise ValueError(f"steps is {steps}, expected a multiple of {k}" if k > 1
                             else f"steps is {steps}, expected 1 or more")
        if self.about.bars is None and (bars or band):
            raise Error(self._no_bars, 3)
        rows, one = self._rows(u)
        calls, times = steps // k, k + steps
        state = self.about.shape

        def trajectory(member: int | None) -> Any:
            made = self.rollout(rows, calls, member=member, parameters=parameters)
            return made.reshape(len(rows), times, *state)

        def shown(array: Any) -> Any:
            return array[0] if one else array

        result: dict[str, Any] = {"mean": shown(trajectory(None))}
        if members:
            each = np.stack([trajectory(m) for m in range(self.about.members)])
            result["members"] = each[:, 0] if one else each
        if self.about.bars is not None and bars is not False:
            told = self._told(parameters, len(rows))
            whole = np.empty((len(rows), times))
            channels = np.empty((len(rows), times, state[0]))
            fields = np.empty((len(rows), times, *state)) if band else None
            unlike = ctypes.c_size_t()
            self._call(self._lib.stap_surrogate_bars, self._handle, int(anywhere), len(rows), calls,
                       _pointer(rows), None if told is None else _pointer(told), _pointer(whole),
                       _pointer(channels), None if fields is None else _pointer(fields),
                       ctypes.byref(unlike))
            result.update(bar=shown(whole), bar_channels=shown(channels),
                          band=None if fields is None else shown(fields),
                          level=self.about.bars.level, unlike=unlike.value)
            if unlike.value:
                warnings.warn(
                    f"the networks disagree more on {unlike.value} of {len(rows)} inputs than on any "
                    f"of the {self.about.bars.trajectories} trajectories of the calibration: error "
                    "bars promise nothing there", stacklevel=2)
        return Prediction(**result)

    def vjp(self, u: ArrayLike, weights: ArrayLike, *, steps: int = 1, member: int | None = None,
            first: int = 0, parameters: Mapping[str, Any] | None = None) -> np.ndarray:
        """The gradient of sum(weights * state after `steps` steps from u) with respect to `u` (the
        adjoint of the steps). For a loss, `weights` is its gradient at the last state."""
        return self.gradients(u, weights, steps=steps, member=member, first=first,
                              parameters=parameters)[0]

    def gradients(self, u: ArrayLike, weights: ArrayLike, *, steps: int = 1, member: int | None = None,
                  first: int = 0, parameters: Mapping[str, Any] | None = None
                  ) -> tuple[np.ndarray, dict[str, float]]:
        """The same, and the gradient with respect to each parameter."""
        single = self._single
        if not isinstance(single, _Single):
            raise Error(f"gradients go through stap_model, which does not take these networks: {single}",
                        5)
        if steps < 1:
            raise ValueError(f"steps is {steps}, expected 1 or more")
        first, told, number = _number(first, steps), self._told(parameters, 1), self._member(member)
        states = [self._state(u)]
        for i in range(steps - 1):
            states.append(single.step(states[-1], number, first + i, told))
        gradient = self._state(weights, "weights")
        by_parameter = dict.fromkeys((p.name for p in self.about.parameters), 0.0)
        for i, state in reversed(list(enumerate(states))):
            gradient, more = single.gradients(state, gradient, number, first + i, told)
            for name, value in zip(by_parameter, more):
                by_parameter[name] += value
        return gradient, by_parameter

    @functools.cached_property
    def _single(self) -> _Single | str:
        """The reader in C; a text: why it does not read this."""
        try:
            if not self.path.is_dir():
                return self._opened(self.path)
            with tempfile.TemporaryDirectory(prefix="stap-") as folder:
                file = Path(folder) / "model.safetensors"
                self._call(self._lib.stap_export_model, os.fsencode(self.path), -1, os.fsencode(file))
                return self._opened(file)
        except Error as error:
            return str(error)

    def _opened(self, file: Path) -> _Single:
        return _Single(file, self._shape, [p.name for p in self.about.parameters])

    def _call(self, function: Any, *arguments: Any) -> None:
        why = ctypes.create_string_buffer(_WHY)
        code = function(*arguments, why, len(why))
        if code != 0:
            raise Error(why.value.decode(errors="replace"), code)

    def _member(self, member: int | None) -> int:
        if member is None:
            return _MEAN
        if not 0 <= member < self.about.members:
            raise IndexError(f"there is no network {member}: expected 0 to {self.about.members - 1}")
        return member

    def _of_one(self, u: Any) -> bool:
        return need("numpy", "arrays").ndim(u) == len(self._shape)

    def _state(self, u: ArrayLike, name: str = "the state") -> np.ndarray:
        np = need("numpy", "arrays")
        array = np.ascontiguousarray(u, dtype=np.float64)
        if array.shape != self._shape:
            raise ValueError(f"{name} has the shape {array.shape}, expected {self._shape}")
        return array

    def _rows(self, u: ArrayLike) -> tuple[np.ndarray, bool]:
        np = need("numpy", "arrays")
        array = np.ascontiguousarray(u, dtype=np.float64)
        one = array.ndim == len(self._shape)
        if array.shape[array.ndim - len(self._shape) :] != self._shape or \
                array.ndim - len(self._shape) not in (0, 1) or array.size == 0:
            raise ValueError(f"states have the shape {array.shape}, expected {self._shape} or "
                             f"[B, {', '.join(map(str, self._shape))}]")
        return (array[None] if one else array), one

    def _told(self, parameters: Mapping[str, Any] | None, rows: int) -> np.ndarray | None:
        np = need("numpy", "arrays")
        names = [p.name for p in self.about.parameters]
        given = dict(parameters or {})
        if set(given) != set(names):
            raise ValueError(f"parameters are {sorted(given) or 'not given'}, expected "
                             f"{names or 'none'}")
        if not names:
            return None
        return np.ascontiguousarray(
            np.stack([np.broadcast_to(np.asarray(given[n], dtype=float), (rows,)) for n in names], -1))


def _number(first: int, steps: int) -> int:
    """That of the first step, if the libraries can count on from there."""
    number = operator.index(first)
    if not 0 <= number <= 2**32 - steps:
        raise ValueError(f"first is {number}, expected 0 to {2**32 - steps}")
    return number


class _Single:
    """stap_model.c: one state, one thread at a time."""

    def __init__(self, path: Path, shape: tuple[int, ...], parameters: list[str]):
        self._lib = _reader()
        why = ctypes.create_string_buffer(_WHY)
        self._model = self._lib.stap_model_open(os.fsencode(path), why, len(why))
        if not self._model:
            raise Error(why.value.decode(errors="replace"), 3)
        self._work = self._lib.stap_model_work(self._model)
        if not self._work:
            raise Error("there is not enough memory", 5)
        self._shape = shape
        self._lock = threading.Lock()
        # Its order of the parameters, in ours.
        self._order = [parameters.index(name) for name in self._names()]

    def __del__(self) -> None:
        if getattr(self, "_work", None):
            self._lib.stap_work_free(self._work)
        if getattr(self, "_model", None):
            self._lib.stap_model_close(self._model)

    def _names(self) -> list[str]:
        names: list[str] = []
        while True:
            found = self._lib.stap_model_parameter(self._model, len(names))
            if not found:
                return names
            names.append(found.contents.name.decode())

    def _set(self, told: np.ndarray | None) -> None:
        if told is None:
            return
        values = need("numpy", "arrays").ascontiguousarray(told[0, self._order])
        if self._lib.stap_model_set(self._model, self._work, values.ctypes.data) != 0:
            raise ValueError(f"parameters are {told[0].tolist()}, expected finite ones, above 0 where they "
                             "are drawn by their logarithm")

    def step(self, u: np.ndarray, member: int, step: int, told: np.ndarray | None) -> np.ndarray:
        made = need("numpy", "arrays").empty(self._shape)
        with self._lock:
            self._set(told)
            code = self._lib.stap_model_step(self._model, self._work, member, step, u.ctypes.data,
                                             made.ctypes.data)
        self._check(code, step)
        return made

    def gradients(self, u: np.ndarray, weights: np.ndarray, member: int, step: int,
                  told: np.ndarray | None) -> tuple[np.ndarray, list[float]]:
        np = need("numpy", "arrays")
        made, by_parameter = np.empty(self._shape), np.empty(max(len(self._order), 1))
        with self._lock:
            self._set(told)
            code = self._lib.stap_model_gradients(self._model, self._work, member, step, u.ctypes.data,
                                                  weights.ctypes.data, made.ctypes.data,
                                                  by_parameter.ctypes.data)
        self._check(code, step)
        ours = [0.0] * len(self._order)
        for place, value in zip(self._order, by_parameter):
            ours[place] = float(value)
        return made, ours

    @staticmethod
    def _check(code: int, step: int) -> None:
        if code != 0:
            raise ValueError(f"first is {step}, expected 0 or more")

class _Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("least", ctypes.c_double), ("greatest", ctypes.c_double)]


def _pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@functools.lru_cache(maxsize=None)
def _reader() -> ctypes.CDLL:
    """stap_model.h."""
    lib = library("stap_model_avx2" if has_avx2() else "stap_model")
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    lib.stap_model_open.argtypes, lib.stap_model_open.restype = [text, text, size], pointer
    lib.stap_model_work.argtypes, lib.stap_model_work.restype = [pointer], pointer
    lib.stap_work_free.argtypes, lib.stap_work_free.restype = [pointer], None
    lib.stap_model_close.argtypes, lib.stap_model_close.restype = [pointer], None
    step = [pointer, pointer, ctypes.c_int, ctypes.c_long]
    lib.stap_model_step.argtypes = [*step, pointer, pointer]
    lib.stap_model_gradients.argtypes = [*step, pointer, pointer, pointer, pointer]
    lib.stap_model_set.argtypes = [pointer, pointer, pointer]
    lib.stap_model_parameter.argtypes = [pointer, size]
    lib.stap_model_parameter.restype = ctypes.POINTER(_Parameter)
    return lib


@functools.lru_cache(maxsize=None)
def _batches() -> ctypes.CDLL:
    """stap/c/surrogate.h."""
    lib = library("stap_c")
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    numbers, counts = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_uint32)
    why = [text, size]
    lib.stap_surrogate_open.argtypes = [text, text, ctypes.c_int, ctypes.POINTER(pointer), *why]
    lib.stap_surrogate_close.argtypes, lib.stap_surrogate_close.restype = [pointer], None
    lib.stap_surrogate_text.argtypes, lib.stap_surrogate_text.restype = [pointer], text
    lib.stap_surrogate_rollout.argtypes = [pointer, ctypes.c_int, size, size, numbers, counts, numbers,
                                           numbers, *why]
    lib.stap_surrogate_bars.argtypes = [pointer, ctypes.c_int, size, size, numbers, numbers, numbers,
                                        numbers, numbers, ctypes.POINTER(size), *why]
    lib.stap_export_model.argtypes = [text, ctypes.c_long, text, *why]
    return lib
