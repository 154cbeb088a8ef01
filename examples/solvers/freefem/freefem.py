"""A running FreeFem++, asked for steps over its standard streams."""
import os
import subprocess

import numpy as np

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "allen_cahn.edp")


class FreeFem:
    def __init__(self, points, lengths, dt, diffusivity):
        self.program = subprocess.Popen(
            ["FreeFem++", "-nw", "-ne", "-v", "0", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._write([*points, *lengths, dt, diffusivity])

    def step(self, u):
        self._write([1, *u.ravel().tolist()])
        line = "\n"
        while line not in ("state\n", ""):  # what it prints besides is not for us
            line = self.program.stdout.readline()
        lines = [self.program.stdout.readline() for _ in range(u.size)]
        if "" in lines:  # it has ended
            raise SystemExit(f"FreeFem++ ended with code {self.program.wait()}")
        return np.array(lines, dtype=float).reshape(u.shape)

    def _write(self, numbers):
        self.program.stdin.write("\n".join(map(repr, numbers)) + "\n")
        self.program.stdin.flush()
