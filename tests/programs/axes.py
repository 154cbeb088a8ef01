"""For worker_test.cpp: counts steps in channel 0, numbers the points of the grid in channel 1."""
import numpy as np

import stap_solver

print("printed early", flush=True)


def one(u):
    x, y = np.meshgrid(np.arange(3), np.arange(4), indexing="ij")
    return np.stack([u[0] + 1, 100 * x + y])


def step(u, info):
    if info.time < 0:
        raise stap_solver.Retry("too early")
    a = info.parameters
    print(*info.channels, info.slot, info.steps, a["a"], a.get("z", 9), info.time, info.step)
    if info.step != 1:
        return one(u)
    return np.stack([one(u), one(one(u)), one(one(one(u)))])  # three steps in one go


stap_solver.serve(step, setup=lambda info: print(info.shape), heartbeat=0.5)
