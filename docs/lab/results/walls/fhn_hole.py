"""FitzHugh-Nagumo between walls and round a hole without flux, by explicit steps; 0 in the hole.

Needs stap_solver.py of interfaces/python beside it; --mask writes mask.npy."""
import sys

import numpy as np
import stap_solver
n, h = 32, 2.0 / 32
x = (np.arange(n) + 0.5) * h
inside = np.hypot(x[:, None] - 0.8, x[None] - 1.1) >= 0.3      # 1: there is a state

def laplace(u):
    out = np.zeros_like(u)
    for axis in (0, 1):
        both = np.take(inside, range(1, n), axis) & np.take(inside, range(n - 1), axis)
        flux = both * np.diff(u, axis=axis)
        pad = [(0, 0), (0, 0)]
        pad[axis] = (1, 1)
        out += np.diff(np.pad(flux, pad), axis=axis)
    return out / h**2

def step(s, info):
    u, v = s * inside
    k = 0.02
    for _ in range(round(info.dt / k)):
        u, v = (u + k * (1e-3 * laplace(u) + u - u**3 - 5e-3 - v) * inside,
                v + k * (5e-3 * laplace(v) + u - v) * inside)
    return np.stack([u, v])

if "--mask" in sys.argv:
    np.save("mask.npy", inside)
else:
    stap_solver.serve(step)
