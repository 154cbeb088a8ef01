"""stap.torch against the engines of the library, for every family and what can surround it."""

import unittest

import numpy as np
import torch

import stap
from support import CPU, SMALL, Case, path, program, small_run

FHN = {"extends": "walls/fhn-hole", "method": "random", "seed": 0, "rounds": 0, "pool": 6, "test": 2,
       "train": {"epochs": 2}, "study": {"initial": 2, "steps": 3}, "pde": {"points": [12, 10]}}


class Torch(Case):
    # At most 1e-5: sums of single precision in another order, over three steps.
    def expect_the_same(self, run):
        file = str(run.path) + ".safetensors"
        self.assertEqual(program("export-model", run.path, "--out", file).returncode, 0)
        engine, model = stap.load(file), stap.torch.load(file)
        rng = np.random.default_rng(3)
        u = rng.normal(size=(3, *engine._shape))
        told = {p.name: rng.uniform(p.least, p.greatest, 3) for p in engine.about.parameters}

        wanted = engine.rollout(u, 3, parameters=told)
        rows = torch.tensor(u.reshape(3, -1, *engine.about.points), dtype=torch.float32)
        with torch.no_grad():
            made = model.rollout(rows, 3, parameters={k: torch.tensor(v).float() for k, v in told.items()})

        made = made.numpy().reshape(wanted.shape)[:, 1:]
        self.assertGreater(np.abs(wanted[:, 1] - u).max(), 1e-3)  # steps do something
        self.assertLess(np.linalg.norm(made - wanted[:, 1:]) / np.linalg.norm(wanted[:, 1:]), 1e-5)
        return engine, model, u

    def test_fno(self):
        self.expect_the_same(small_run("told", **{
            "pde.points": 18, "network.modes": [6], "network.time_input": True,
            "network.position_input": True, "network.conserve": ["u"],
            "network.parameter_input": "shifts",
            "pde.viscosity": {"between": [0.005, 0.05], "draw": "log"}}))

    def test_gradients_are_those_of_the_adjoint(self):
        engine, model, u = self.expect_the_same(small_run())
        weights = np.random.default_rng(4).normal(size=(1, 16))

        v = torch.tensor(u[:1], dtype=torch.float32, requires_grad=True)
        (model.rollout(v, 2)[:, -1] * torch.tensor(weights).float()).sum().backward()

        wanted = engine.vjp(u[0], weights, steps=2)
        self.assertLess(np.linalg.norm(v.grad.numpy()[0] - wanted) / np.linalg.norm(wanted), 1e-4)

    def test_dilated_and_clusters(self):
        self.expect_the_same(stap.run("demo", out=path("dilated"), options=CPU, quiet=True, **{
            **SMALL, "network": {"name": "dilated", "width": 8}, "pde.points": 16,
            "pde.viscosity": {"between": [0.005, 0.05], "draw": "log"}}))
        self.expect_the_same(stap.run("demo", out=path("dilated-shifts"), options=CPU, quiet=True, **{
            **SMALL, "network": {"name": "dilated", "width": 8, "parameter_input": "shifts"},
            "pde.points": 16, "pde.viscosity": {"between": [0.005, 0.05], "draw": "log"}}))
        self.expect_the_same(small_run("cluster", budget=4, **{"study.cluster": 2}))

    def test_walls_and_masks(self):
        for name, network, more in (
                ("fno", {"name": "fno", "modes": [12, 10], "width": 8, "position_input": True,
                         "padding": {"share": [0.25, 0.3], "kind": ["odd", "even"]}}, {}),
                ("dilated", {"name": "dilated", "width": 8, "dilations": [1, 2], "time_input": True}, {}),
                ("own zeros", {"name": "dilated", "width": 8, "dilations": [3, 1], "time_input": True,
                               "padding": {"kind": ["conv-zero"]}}, {}),
                ("own mirrors", {"name": "dilated", "width": 8, "dilations": [3, 1], "position_input": True,
                                 "padding": {"kind": ["conv-mirror"]}}, {}),
                ("half", {"name": "fno", "modes": [12, 10], "width": 8,
                          "padding": {"share": [0.25, 0], "kind": ["zero", "zero"]}},
                 {"pde.walls": ["centres", "periodic"], "pde.hole": []})):
            with self.subTest(name):
                self.expect_the_same(stap.run(FHN, out=path(f"walls-{name}"), options=CPU, quiet=True,
                                              network=network, **more))

    def test_files_that_need_more_or_are_damaged_are_refused(self):
        run = small_run()
        program("export-model", run.path, "--out", path("more.safetensors"))
        with open(path("more.safetensors"), "rb") as file:
            content = file.read()
        with open(path("more.safetensors"), "wb") as file:
            file.write(content.replace(b'[\\"fno\\"]', b'[\\"fnx\\"]', 1))

        with self.assertRaisesRegex(ValueError, "requires fnx"):
            stap.torch.load(path("more.safetensors"))
        for damaged in (content[:-5] + bytes([content[-5] ^ 64]) + content[-4:], content[: len(content) // 2]):
            with open(path("damaged.safetensors"), "wb") as file:
                file.write(damaged)
            with self.assertRaisesRegex(ValueError, "checksum does not fit"):
                stap.torch.load(path("damaged.safetensors"))


if __name__ == "__main__":
    unittest.main()
