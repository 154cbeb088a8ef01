"""A worker: a reaction-diffusion equation, u_t = D u_xx + u - u^3, on a periodic line.

stap starts it once for every slot and then asks it for one step after the other; stap_solver.py,
beside this file, does the talking. What it prints goes to a log. Replace step() with your own
solver; keep to one rule: the answer depends on u and info alone.
"""

import numpy as np

import stap_solver

# Set up here what takes long: it is done once.


# ---- your own solver goes here: u is [channels, x], or [channels, x, y] -------------------------
def step(u, info):
    h = info.lengths[0] / info.points[0]
    diffusion = info.parameters.get("diffusion", 0.01)
    small = 1 + int(np.ceil(info.dt * max(4 * diffusion / h**2, 20)))  # stable inner steps
    for _ in range(small):
        second = (np.roll(u, 1, -1) - 2 * u + np.roll(u, -1, -1)) / h**2
        u = u + info.dt / small * (diffusion * second + u - u**3)
    if not np.all(np.isfinite(u)):
        raise ValueError("the step could not be made")  # fails this query alone
    return u


stap_solver.serve(step)
