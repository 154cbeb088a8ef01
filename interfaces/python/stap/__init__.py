"""stap: train a neural surrogate of a PDE solver from far fewer solver steps.

    import stap

    run = stap.run("demo", seed=5, out="my-run")        # or a study with a solver of your own
    surrogate = stap.load("my-run")                     # or a file of `stap export-model`
    v = surrogate.step(u)                               # the state one step later
    print(run.metric("rmse"))                           # the error after every round

NumPy is needed for arrays and for solvers in Python, h5py for HDF5 files of runs; without them
`import stap` and `stap.run` work, and what needs them says so. The program itself is `stap.program()`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._found import VERSION as __version__
from ._found import Error, command, program

if TYPE_CHECKING:
    from stap_solver import Info, Retry

    from . import torch
    from ._results import Plan, Run, Simulation, Sweep, Transitions
    from ._run import run, simulate
    from ._surrogate import About, Bars, Parameter, Prediction, Surrogate, load

__all__ = [
    "About",
    "Bars",
    "Error",
    "Info",
    "Parameter",
    "Plan",
    "Prediction",
    "Retry",
    "Run",
    "Simulation",
    "Surrogate",
    "Sweep",
    "Transitions",
    "command",
    "load",
    "program",
    "run",
    "simulate",
]

# Read when they are first used: `import stap` takes milliseconds, NumPy a tenth of a second.
_PLACES = {
    "_results": ("Plan", "Run", "Simulation", "Sweep", "Transitions"),
    "_run": ("run", "simulate"),
    "_surrogate": ("About", "Bars", "Parameter", "Prediction", "Surrogate", "load"),
}


def __getattr__(name: str) -> Any:
    if name in ("Info", "Retry"):
        from ._found import need

        need("numpy", "a solver in Python")
        return getattr(importlib.import_module("stap_solver"), name)
    if name == "torch":
        return importlib.import_module(f"{__name__}.torch")
    for module, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
