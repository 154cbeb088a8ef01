"""draw.py SEED OUTPUT: writes one initial state [2, 64], sums of sines."""
import sys

import numpy as np

seed, output = int(sys.argv[1]), sys.argv[2]
random = np.random.default_rng(seed)
x = 2 * np.pi * np.arange(64) / 64
state = np.zeros((2, 64))
for k in (1, 2, 3):
    amplitude, phase = random.normal(0, 0.6 / k, (2, 1)), random.uniform(0, 2 * np.pi, (2, 1))
    state += amplitude * np.sin(k * x + phase)
np.save(output, state)
