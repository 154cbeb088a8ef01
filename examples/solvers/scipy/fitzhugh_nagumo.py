"""FitzHugh-Nagumo on a ring, advanced by SciPy's solve_ivp:

u_t = D u_xx + u - u^3 - w,   w_t = epsilon (u - a w)
"""
import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import bmat, eye

import stap_solver  # interfaces/python/stap_solver.py; `make` lays it beside this file


def coupled(n):
    """Which values a rate depends on: with this, BDF makes its Jacobian of 5 calls, not of 2n."""
    ring = eye(n) + eye(n, k=1) + eye(n, k=-1) + eye(n, k=n - 1) + eye(n, k=1 - n)
    return bmat([[ring, eye(n)], [eye(n), eye(n)]])


@stap_solver.serve
def step(state, info):
    d, a, epsilon = (info.parameters[name] for name in ("D", "a", "epsilon"))
    per_h2 = (info.points[0] / info.lengths[0]) ** 2

    def rates(_, y):
        u, w = y.reshape(2, -1)
        u_xx = per_h2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.concatenate((d * u_xx + u - u**3 - w, epsilon * (u - a * w)))

    # Begins anew at first order: a multi-step method must not remember the call before.
    result = solve_ivp(
        rates,
        (0, info.dt),
        state.ravel(),
        method="BDF",
        t_eval=[info.dt],
        jac_sparsity=coupled(info.points[0]),
        rtol=1e-6,
        atol=1e-8,
    )
    if not result.success:
        raise RuntimeError(result.message)  # fails this query; the worker lives on
    return result.y.reshape(state.shape)
