"""step.py INPUT OUTPUT DT D: one step by a FreeFem++ that is started for it."""
import sys

import numpy as np

from freefem import FreeFem

u = np.load(sys.argv[1])  # [1, X, Y]
solver = FreeFem(u.shape[1:], (1.0, 1.0), float(sys.argv[3]), float(sys.argv[4]))
np.save(sys.argv[2], solver.step(u))
