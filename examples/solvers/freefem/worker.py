"""The same with a FreeFem++ that stays: its mesh and matrix are made once."""
import stap_solver  # interfaces/python/stap_solver.py; `make` lays it beside this file

from freefem import FreeFem

solver = None


def set_up(info):
    global solver
    solver = FreeFem(info.points, info.lengths, info.dt, info.parameters["D"])


stap_solver.serve(lambda u, info: solver.step(u), setup=set_up)
