"""step.py INPUT OUTPUT DT LID: one step of icoFoam from a state [Ux Uy, x, y] of cell values.

Runs in the private folder that stap gives every call."""
import os
import shutil
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SUBSTEPS = 10  # of OpenFOAM: Courant numbers stay below 1

state, output = np.load(sys.argv[1]), sys.argv[2]
dt, lid = float(sys.argv[3]), float(sys.argv[4])
shutil.copytree(os.path.join(HERE, "case"), "case")

# OpenFOAM's cells go along x first, and its vectors have three components.
cells = np.zeros((state[0].size, 3))
cells[:, :2] = state.transpose(2, 1, 0).reshape(-1, 2)
with open("case/0/velocity", "w") as file:
    file.write(f"nonuniform List<vector> {len(cells)} (\n")
    np.savetxt(file, cells, fmt="(%.17g %.17g %.17g)")
    file.write(")")
with open("case/0/step", "w") as file:
    file.write(f"lid {lid!r}; dt {dt!r}; deltaT {dt / SUBSTEPS!r}; substeps {SUBSTEPS};\n")

run = subprocess.run(["icoFoam", "-case", "case"], capture_output=True, text=True)
if run.returncode != 0:
    sys.exit(f"icoFoam ended with code {run.returncode}:\n{(run.stdout + run.stderr)[-2000:]}")
times = [t for t in os.listdir("case") if t[0].isdigit() and t != "0"]
with open(f"case/{times[0]}/U") as file:
    text = file.read()
inside = text[text.index("List<vector>") :]
inside = inside[inside.index("(") + 1 : inside.index("\n)")]
cells = np.array(inside.replace("(", " ").replace(")", " ").split(), float).reshape(-1, 3)
np.save(output, cells[:, :2].reshape(state.shape[2], state.shape[1], 2).transpose(2, 1, 0))
