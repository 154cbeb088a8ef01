"""draw.py SEED OUTPUT: one initial state [2, 32, 32]: eddies that are at rest at the walls.

Ux, Uy = d psi/dy, -d psi/dx with psi = sin(pi x)^2 sin(pi y)^2 times random waves, by differences
between the corners of a cell, so that what flows into a cell flows out of it."""
import sys

import numpy as np

N = 32
random = np.random.default_rng(int(sys.argv[1]))
x, y = np.meshgrid(np.linspace(0, 1, N + 1), np.linspace(0, 1, N + 1), indexing="ij")
psi = np.zeros((N + 1, N + 1))
for k in range(4):
    for l in range(4):
        psi += random.normal(0, 0.1 / (1 + k * k + l * l)) * np.cos(np.pi * (k * x + l * y))
psi *= (np.sin(np.pi * x) * np.sin(np.pi * y)) ** 2
across_y, across_x = np.diff(psi, axis=1) * N, np.diff(psi, axis=0) * N  # on faces
velocity = np.stack([across_y[1:] + across_y[:-1], -(across_x[:, 1:] + across_x[:, :-1])]) / 2
np.save(sys.argv[2], velocity)
