"""The side of python_bench.cpp that is in Python: `rollout FILE ROWS STEPS` prints the seconds of the
quickest of some rollouts on one core, `queries` a JSON object for each size of a state, `there` nothing.
"""

import json
import statistics
import sys
import tempfile
import time

import numpy as np

import stap


def rollout(file, rows, steps):
    model = stap.load(file, device="cpu", threads=1)
    u = np.random.default_rng(2).normal(size=(rows, *model.about.shape))
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        model.rollout(u, steps)
        best = min(best, time.thread_time() - start)
    print(best)


def queries(points):
    """Between two calls of the function that waits for nothing: what is not its own. A query is on disk
    before the next one is asked, so there is a part of the disk's in it."""
    times = []

    def step(u, info):
        times.append(time.perf_counter())
        times.append(time.perf_counter())
        return u

    with tempfile.TemporaryDirectory() as folder:
        stap.run({"pde": {"name": "external", "channels": ["u"], "points": [points], "lengths": [1], "dt": 1},
                  "initial": {"name": "sines", "terms": 3}, "study": {"steps": 40, "initial": 1, "rounds": 0,
                                                                      "pool": 20, "test": 20, "data_seed": 7},
                  "network": {"modes": [4], "width": 4, "layers": 1, "lifting": 4, "projection": 4},
                  "train": {"epochs": 1}, "method": "random"}, solver=step, out=folder + "/run", quiet=True,
                 options=["--no-report", "--device", "cpu"])
    gaps = [1e3 * (b - a) for a, b in zip(times[1:-1:2], times[2::2])]
    print(json.dumps({"bench": "python", "name": f"query of {points} values", "count": len(gaps),
                      "median_ms": round(statistics.median(gaps), 3)}))


if sys.argv[1] == "rollout":
    rollout(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "queries":
    import os

    os.environ["STAP_CACHE"] = "off"
    for size in (64, 4096, 65536):
        queries(size)
