"""What lies in the folders of runs and sweeps, as arrays. Files are read as they are; `stap fsck` is
what checks their seals."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._found import Error, command, library, need

if TYPE_CHECKING:
    import numpy as np

    from ._surrogate import Surrogate


@dataclasses.dataclass(frozen=True)
class Transitions:
    """What the solver was paid for, and where each step is from. N rows."""

    inputs: np.ndarray  # [N, C, X...]
    outputs: np.ndarray  # one learned step later
    candidate: np.ndarray  # [N], row of the pool
    step: np.ndarray  # [N], of its trajectory, from 0
    acquisition: np.ndarray  # [N], the round that bought it; 0: the initial trajectories
    parameters: dict[str, np.ndarray]  # [N] each, of those that vary

    def __len__(self) -> int:
        return len(self.inputs)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a round chose: steps (1) of candidates (rows)."""

    round: int
    candidates: np.ndarray  # [n], rows of the pool
    patterns: np.ndarray  # [n, L] of bool: which steps of the trajectory the solver makes

    @property
    def steps(self) -> int:
        """Solver steps that it asks for."""
        return int(self.patterns.sum())


class Run:
    """The folder of a run, also of one that is under way. Nothing is read before it is asked for, and
    every property reads anew."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        if not (self.path / "config.yaml").is_file():
            raise FileNotFoundError(
                f"{self.path} is no folder of a run: it has no config.yaml"
                + (" (it is a sweep: stap.Sweep)" if (self.path / "sweep.json").exists() else ""))

    def __repr__(self) -> str:
        return f"stap.Run({str(self.path)!r})"

    @property
    def config(self) -> dict[str, Any]:
        """The complete configuration."""
        lib = _library()
        text, why = ctypes.c_void_p(), ctypes.create_string_buffer(1000)
        code = lib.stap_read_config(os.fsencode(self.path), ctypes.byref(text), why, len(why))
        if code != 0:
            raise Error(why.value.decode(errors="replace"), code)
        try:
            return json.loads(ctypes.string_at(text.value or 0))
        finally:
            lib.stap_free(text)

    @property
    def manifest(self) -> dict[str, Any]:
        """Version, machine, seeds and, as `identity`, what the problem is."""
        return json.loads((self.path / "manifest.json").read_text())

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The evaluation after every round, as it stands in metrics.jsonl; needs no NumPy."""
        return _lines(self.path / "metrics.jsonl")

    def metric(self, name: str = "rmse", model: str = "members") -> np.ndarray:
        """An error (or another entry of `rounds`) after every round: [R], or [R, L] of those by step.
        model: "members", single networks as in the paper, or "mean", the averaged model."""
        if model not in ("members", "mean"):
            raise ValueError(f"model is {model!r}, expected 'members' or 'mean'")
        rows = self.rounds
        if model == "mean":
            rows = [{**row, **row["mean_model"]} for row in rows]
        missing = [row["round"] for row in rows if name not in row]
        if missing:
            known = ", ".join(sorted(set(rows[missing[0]]) - {"crc", "run", "mean_model", "losses"}))
            raise KeyError(f"{self.path}: round {missing[0]} has no {name!r}; it has {known}")
        # What is not finite is null in JSON.
        return _numpy().array([row[name] for row in rows], dtype=float)

    @property
    def solver_steps(self) -> np.ndarray:
        """Transitions that were there at every evaluation, [R]."""
        return self.metric("transitions").astype(int)

    @property
    def transitions(self) -> Transitions:
        """The training set with its provenance."""
        np = _numpy()
        with _hdf5(self.path / "transitions.h5") as file:
            return Transitions(
                **{key: np.asarray(file[key])
                   for key in ("inputs", "outputs", "candidate", "step", "acquisition")},
                parameters=_parameters(file))

    def pool(self) -> np.ndarray:
        """The initial conditions that could be chosen, [B, C, X...]."""
        return self._data("pool")

    def test(self) -> np.ndarray:
        """The test trajectories, [B, T, C, X...]."""
        return self._data("test")

    def pool_parameters(self) -> dict[str, np.ndarray]:
        """Those that vary, [B] each, as the parameters of predict(); empty if none does."""
        return self._data_parameters("pool")

    def test_parameters(self) -> dict[str, np.ndarray]:
        """The same of the test trajectories."""
        return self._data_parameters("test")

    def _data_parameters(self, name: str) -> dict[str, np.ndarray]:
        if not self.manifest["identity"].get("parameters"):
            return {}
        with _hdf5(self._data_file(name)) as file:
            return _parameters(file)

    def _data_file(self, name: str) -> Path:
        named = self.manifest["identity"].get(f"{name}_file")
        if not named:
            # Made, and kept in the cache; what is missing there is made again.
            made = json.loads(command("generate", self.path, "--json", "--quiet", capture=True))
            named = str(Path(made["folder"]) / f"{name}.h5")
        if not Path(named).exists():
            raise FileNotFoundError(f"{self.path}: there is no {name}: {named} is missing")
        return Path(named)

    def _data(self, name: str) -> np.ndarray:
        np = _numpy()
        named = self._data_file(name)
        if named.suffix == ".npy":
            return np.load(named)
        with _hdf5(named) as file:
            key = "trajectory" if "trajectory" in file and (name == "test" or "states" not in file) \
                else "states"
            array = np.asarray(file[key], dtype=float)
            return array[:, 0] if key == "trajectory" and name == "pool" else array

    @property
    def plans(self) -> list[Plan]:
        """What every round chose, all of its passes together. (Failures are in the journal.)"""
        np = _numpy()
        found = []
        for folder in sorted((self.path / "rounds").glob("[0-9]*"), key=lambda f: int(f.name)):
            passes = sorted(folder.glob("plan*.json"), key=lambda f: (len(f.name), f.name))
            rows = [row for file in passes for row in json.loads(file.read_text())["purchases"]]
            if rows:
                found.append(Plan(int(folder.name), np.array([row["candidate"] for row in rows]),
                                  np.array([[c == "1" for c in row["pattern"]] for row in rows])))
        return found

    def load(self, **options: Any) -> Surrogate:
        """Its newest networks: stap.load(run.path)."""
        from ._surrogate import load

        return load(self.path, **options)

    def calibrate(self, level: float = 0.9, on: str = "test:0.5") -> Run:
        """Gives its networks error bars (`stap calibrate`)."""
        command("calibrate", self.path, "--level", level, "--on", on, "--quiet", capture=True)
        return self

    def table(self, *options: str) -> str:
        """The table of `stap table`."""
        return command("table", self.path, *options, capture=True)

    @property
    def report(self) -> Path:
        """The page with its charts."""
        return self.path / "report.html"


class Simulation:
    """The folder of `stap simulate`, also of one that is under way. Every property reads anew; the
    leading [B] is there only if stap.simulate() was given a batch (`one` is False)."""

    def __init__(self, folder: str | os.PathLike[str], one: bool = False):
        self.folder = Path(folder)
        self._one = one

    def __repr__(self) -> str:
        return f"stap.Simulation({str(self.folder)!r})"

    @property
    def finished(self) -> bool:
        """Whether there are results. If not, the same call of stap.simulate() continues."""
        return (self.folder / "simulation.h5").exists()

    @property
    def states(self) -> np.ndarray:
        """[B, L+1, C, X...], from the input on."""
        return self._read("trajectory")

    @property
    def by_solver(self) -> np.ndarray:
        """[B, L] of bool: who made each step."""
        return self._read("by_solver").astype(bool)

    @property
    def predicted_error(self) -> np.ndarray | None:
        """[B, L+1]: the error bar; with verify, by how much each step differed from the solver's; with
        share, what the committee expects since the solver's last step. None: nobody predicts."""
        return self._read("predicted_error", optional=True)

    @property
    def solver_steps(self) -> np.ndarray:
        """[B, L]: what each step cost."""
        return self._read("solver_steps")

    @property
    def failed_step(self) -> np.ndarray:
        """[B]: the step from which the solver no longer answered; -1: none."""
        return self._read("failed_step")

    def _read(self, name: str, optional: bool = False) -> Any:
        with _hdf5(self.folder / "simulation.h5") as file:
            if optional and name not in file:
                return None
            array = _numpy().asarray(file[name])
        return array[0] if self._one else array


class Sweep(Mapping[str, Run]):
    """The folder of a sweep: its runs by name, such as "method=sbal,seed=1", in their order."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            self._names: list[str] = json.loads((self.path / "sweep.json").read_text())["runs"]
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.path} is no folder of a sweep: it has no sweep.json") from None

    def __repr__(self) -> str:
        return f"stap.Sweep({str(self.path)!r})"

    def __getitem__(self, name: str) -> Run:
        if name not in self._names:
            raise KeyError(f"{self.path} has no run {name!r}; it has {', '.join(self._names)}")
        return Run(self.path / name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def metric(self, name: str = "rmse", model: str = "members") -> np.ndarray:
        """An error of every run after every round, [runs, R]; NaN where a run has not come so far."""
        np = _numpy()
        rows = [run.metric(name, model) if (run.path / "metrics.jsonl").exists() else np.empty(0)
                for run in self._begun()]
        if any(row.ndim > 1 for row in rows):
            raise ValueError(f"{name!r} is one of several numbers per round: ask each run for it")
        table = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
        for row, values in zip(table, rows):
            row[: len(values)] = values
        return table

    def _begun(self) -> list[Any]:
        class Nothing:
            path = self.path / "not-begun"

        return [Run(self.path / name) if (self.path / name / "config.yaml").exists() else Nothing
                for name in self._names]

    def table(self, *options: str) -> str:
        """The comparison of `stap table`, as in sweep.table("--baseline", "random")."""
        return command("table", self.path, *options, capture=True)


def _numpy() -> Any:
    return need("numpy", "arrays")


def _hdf5(path: Path) -> Any:
    h5py = need("h5py", "HDF5 files of runs")
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there (yet)")
    return h5py.File(path, "r", locking=False)


def _parameters(file: Any) -> dict[str, np.ndarray]:
    """Those of its rows."""
    names = file.attrs.get("parameter_names", b"")
    text = names.decode() if isinstance(names, bytes) else str(names)
    return {name: _numpy().asarray(file["parameters"][:, i], dtype=float)
            for i, name in enumerate(name for name in text.split(",") if name)}


def _lines(path: Path) -> list[dict[str, Any]]:
    # A line that is being written has no end yet.
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    lib = library("stap_c")
    lib.stap_read_config.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p,
                                     ctypes.c_size_t]
    lib.stap_free.argtypes = [ctypes.c_void_p]
    return lib
