"""Small studies, once per process."""

import atexit
import os
import subprocess
import tempfile
import unittest

import stap

SMALL = {"train": {"epochs": 3}, "pool": 20, "test": 8, "rounds": 1, "budget": 5, "members": 2,
         "study": {"initial": 2, "steps": 4}, "network": {"width": 8, "lifting": 16, "projection": 16}}
CPU = ["--device", "cpu", "--no-report"]
# By a solver of one's own: u_t = 0.01 u_xx, so every mode k of a state decays by exp(-0.01 (2 pi k)^2 dt).
HEAT = {"pde": {"name": "external", "label": "heat", "channels": ["u"], "points": [16], "lengths": [1],
                "dt": 0.1},
        "initial": {"name": "sines", "terms": 3}, "method": "sbal+stap",
        "network": {"modes": [8], "width": 8, "layers": 2, "lifting": 16, "projection": 16},
        "train": {"epochs": 3}, "pool": 12, "test": 2, "rounds": 1, "budget": 5,
        "study": {"initial": 2, "steps": 3}}

folder = tempfile.TemporaryDirectory(prefix="stap-test-")
atexit.register(folder.cleanup)


def path(name):
    return os.path.join(folder.name, name)


def small_run(name="small", **more):
    """Continued where it was made before: done at once."""
    return stap.run("demo", out=path(name), options=CPU, quiet=True,
                    **{**SMALL, **{"pde.points": 16, "network.modes": [8]}, **more})


def program(*words):
    return subprocess.run([stap.program(), *map(str, words)], capture_output=True, text=True)


class Case(unittest.TestCase):
    maxDiff = None
