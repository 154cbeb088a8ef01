"""Surrogates, results and solvers with NumPy."""

import copy
import ctypes
import io
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
from unittest import mock

import h5py
import numpy as np

import stap
from stap._surrogate import _batches
from support import CPU, HEAT, SMALL, Case, path, program, small_run

# A rollout in single precision, by programs that sum in another order.
ROUNDING = 1e-5


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def heat(u, info):
    waves = 2 * np.pi * np.fft.rfftfreq(u.shape[-1], info.lengths[-1] / u.shape[-1])
    return np.fft.irfft(np.fft.rfft(u) * np.exp(-0.01 * waves**2 * info.dt), u.shape[-1])


class Surrogates(Case):
    @classmethod
    def setUpClass(cls):
        cls.run_ = small_run().calibrate(level=0.5, on="test")
        cls.model = stap.load(cls.run_.path)
        cls.states = cls.run_.test()[:, 0]

    # By the program, whose results are tested for themselves.
    def predicted(self, *words):
        np.save(path("states.npy"), self.states)
        done = program("predict", self.run_.path, "--input", path("states.npy"), "--steps", 4, "--out",
                       path("predicted.h5"), *words, *CPU[:2])
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(path("predicted.h5")) as file:
            return {name: file[name][()] for name in file}

    def test_says_what_it_is_of(self):
        about = self.model.about

        self.assertEqual((about.problem, about.channels, about.points, about.members, about.cluster),
                         ("burgers", ("u",), (16,), 2, 1))
        self.assertEqual(about.shape, (1, 16))
        self.assertEqual(about.dt, self.run_.manifest["identity"]["dt"])
        self.assertEqual(about.bars, stap.Bars(level=0.5, steps=4, trajectories=8))

    def test_steps_are_those_of_the_program_one_by_one_and_in_batches(self):
        wanted = self.predicted("--members")

        one = [self.model.step(self.states[0])]
        for _ in range(3):
            one.append(self.model.step(one[-1]))
        batch = self.model.rollout(self.states, 4)

        self.assertLess(relative(np.stack(one), wanted["mean"][0, 1:]), ROUNDING)
        self.assertTrue(np.array_equal(batch[:, 1:], wanted["mean"][:, 1:]))
        self.assertLess(relative(self.model.step(self.states[2], member=1), wanted["members"][1, 2, 1]),
                        ROUNDING)
        self.assertTrue(np.array_equal(self.model.rollout(self.states[3], 4), batch[3]))

    def test_long_rollouts_are_cut_where_nobody_sees_it(self):
        rows = np.concatenate([self.states] * 9)[:67]  # blocks of 64 rows, and of 64 calls

        whole = self.model.rollout(rows, 66)

        state = rows[65]
        for i in range(66):
            state = self.model.rollout(state, 1)[1]
        self.assertTrue(np.array_equal(whole[65, -1], state))

    def test_predictions_have_the_error_bars_of_the_program(self):
        wanted = self.predicted("--bars", "--bands", "--members")

        made = self.model.predict(self.states, 4, band=True, members=True)
        first = self.model.predict(self.states[0], 4)

        for name in ("mean", "bar", "bar_channels", "band", "members"):
            self.assertTrue(np.array_equal(getattr(made, name), wanted[name]), name)
        self.assertEqual(made.level, 0.5)
        self.assertTrue(np.array_equal(first.bar, made.bar[0]))
        self.assertIsNone(first.band)
        anywhere = self.model.predict(self.states, 4, anywhere=True)
        self.assertTrue(np.array_equal(anywhere.bar, self.predicted("--bars", "--anywhere")["bar"]))

    def test_members_and_their_spread(self):
        each, spread = self.model.members(self.states[0])

        self.assertEqual(each.shape, (2, 1, 16))
        # Of two numbers it is half of their distance.
        np.testing.assert_allclose(spread, np.abs(each[0] - each[1]) / 2, rtol=1e-12, atol=1e-15)

    def test_the_gradient_is_that_of_central_differences(self):
        rng = np.random.default_rng(1)
        weights, direction = rng.normal(size=(2, 1, 16))
        u, h = self.states[0], 1e-2

        def loss(v):
            return np.sum(weights * self.model.rollout(v, 3)[-1])

        found = np.sum(self.model.vjp(u, weights, steps=3) * direction)

        # Of second order in h, and single precision divided by h: some 1e-4 each.
        wanted = (loss(u + h * direction) - loss(u - h * direction)) / (2 * h)
        self.assertLess(abs(found - wanted), 2e-3 * max(abs(wanted), 1))

    def test_an_exported_file_is_the_same_surrogate(self):
        program("export-model", self.run_.path, "--out", path("model.safetensors"))

        file = stap.load(path("model.safetensors"))

        self.assertEqual(file.about.problem, "burgers")
        self.assertTrue(np.array_equal(file.rollout(self.states, 2), self.model.rollout(self.states, 2)))
        self.assertEqual(file.about.bars, self.model.about.bars)
        self.assertTrue(np.array_equal(file.predict(self.states, 2).bar,
                                       self.model.predict(self.states, 2).bar))

    def test_parameters_and_times_reach_networks(self):
        run = small_run("parametric", **{"pde.viscosity": {"between": [0.005, 0.05], "draw": "log"},
                                         "network.time_input": True})
        model, u = run.load(), self.states[:3]
        np.save(path("three.npy"), u)
        done = program("predict", run.path, "--input", path("three.npy"), "--steps", 3, "--parameter",
                       "viscosity=0.02", "--out", path("three.h5"), *CPU[:2])
        self.assertEqual(done.returncode, 0, done.stderr)

        made = model.rollout(u, 3, parameters={"viscosity": 0.02})
        later = model.rollout(made[:, 1], 2, first=1, parameters={"viscosity": [0.02] * 3})

        with h5py.File(path("three.h5")) as file:
            self.assertTrue(np.array_equal(made[:, 1:], file["mean"][:, 1:]))
        self.assertTrue(np.array_equal(later[:, 1:], made[:, 2:]))
        self.assertEqual(model.about.parameters, (stap.Parameter("viscosity", 0.005, 0.05),))
        self.assertFalse(np.array_equal(model.step(u, parameters={"viscosity": 0.03}), made[:, 1]))
        one = model.step(u[0], parameters={"viscosity": 0.02})
        self.assertLess(relative(one, made[0, 1]), ROUNDING)  # the reader in C
        for wrong in (None, {"nu": 1.0}):
            with self.assertRaisesRegex(ValueError, "viscosity"):
                model.step(u, parameters=wrong)
        with self.assertRaisesRegex(ValueError, "above 0"):
            model.step(u[0], parameters={"viscosity": -1.0})
        for wrong in (-1.0, [0.02, 0.02, np.nan]):
            with self.assertRaisesRegex(stap.Error, "viscosity of row . is .*, expected .* above 0"):
                model.rollout(u, 2, parameters={"viscosity": wrong})

        weights = np.random.default_rng(2).normal(size=(1, 16))

        def loss(viscosity):
            return np.sum(weights * model.rollout(u[0], 3, parameters={"viscosity": viscosity})[-1])

        _, by = model.gradients(u[0], weights, steps=3, parameters={"viscosity": 0.02})

        # Of second order in a step of a twentieth, and single precision divided by it.
        wanted = (loss(0.021) - loss(0.019)) / 0.002
        self.assertLess(abs(by["viscosity"] - wanted), 0.02 * max(abs(wanted), 1))

    def test_threads_may_share_it(self):
        wanted = self.model.rollout(self.states, 8)
        made = [None] * 4

        def roll(i):
            made[i] = self.model.rollout(self.states, 8)

        threads = [threading.Thread(target=roll, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        for other in made:
            self.assertTrue(np.array_equal(other, wanted))

    def test_a_copy_is_the_same_and_closes_nothing(self):
        model = self.run_.load()
        for copied in (copy.copy(model), copy.deepcopy([model])[0]):
            self.assertIs(copied, model)

    def test_refuses_what_does_not_fit_and_says_what_would(self):
        u = self.states[0]
        for use, kind, words in (
                (lambda: self.model.step(u[:, :-1]), ValueError, r"expected \(1, 16\)"),
                (lambda: self.model.step(u, member=2), IndexError, "expected 0 to 1"),
                (lambda: self.model.rollout(u, 0), ValueError, "expected 1 or more"),
                (lambda: self.model.rollout(u, 2, first=-1), ValueError, "first is -1, expected 0 to"),
                (lambda: self.model.rollout(u, 2, first=2**32 - 1), ValueError, "expected 0 to 4294967294"),
                (lambda: self.model.rollout(u, 2, first=0.5), TypeError, "integer"),
                (lambda: pickle.dumps(self.model), TypeError, "stap.load"),
                (lambda: self.model.vjp(u, u[:, :3]), ValueError, "weights has the shape"),
                (lambda: stap.load(path("nothing")), FileNotFoundError, "no such model file"),
                (lambda: stap.load(self.run_.path, device="tpu"), stap.Error, "expected cpu, cuda or auto"),
        ):
            with self.assertRaisesRegex(kind, words):
                use()
        with open(path("bad.safetensors"), "wb") as file:
            file.write(b"\x10" + bytes(7) + b"{" * 16)
        with self.assertRaisesRegex(stap.Error, "bad.safetensors"):
            stap.load(path("bad.safetensors"))
        bare = small_run("bare", seed=9).load()
        self.assertIsNone(bare.predict(u, 2).bar)
        with self.assertRaisesRegex(stap.Error, "stap calibrate"):
            bare.predict(u, 2, bars=True)


class Results(Case):
    @classmethod
    def setUpClass(cls):
        cls.run_ = small_run()

    def test_transitions_say_where_they_are_from(self):
        run = self.run_
        bought, pool = run.transitions, run.pool()

        # Two initial trajectories of four steps, then what was planned: the equation never fails.
        self.assertEqual(len(bought), 2 * 4 + sum(plan.steps for plan in run.plans))
        self.assertEqual(list(run.solver_steps), [8, len(bought)])
        begins = bought.step == 0
        self.assertGreaterEqual(begins.sum(), 2)
        self.assertTrue(np.array_equal(bought.inputs[begins], pool[bought.candidate[begins]]))
        (plan,) = run.plans
        later = bought.acquisition == 1
        self.assertEqual(
            set(zip(bought.candidate[later], bought.step[later])),
            {(c, s) for c, pattern in zip(plan.candidates, plan.patterns) for s in np.flatnonzero(pattern)})

    def test_metrics_are_those_of_the_table(self):
        table = json.loads(program("table", self.run_.path, "--json", "--model", "mean").stdout)

        errors = self.run_.metric("rmse", "mean")

        self.assertIn(round(float(errors[-1]), 12), {round(x, 12) for x in numbers_in(table)})
        self.assertEqual(self.run_.metric("rmse_by_step").shape, (2, 4))
        with self.assertRaisesRegex(KeyError, "rmse_by_step"):
            self.run_.metric("rmsee")

    def test_parameters_are_those_of_the_rows(self):
        run = small_run("parametric", **{"pde.viscosity": {"between": [0.005, 0.05], "draw": "log"},
                                         "network.time_input": True})
        bought, pool, test = run.transitions, run.pool_parameters(), run.test_parameters()

        self.assertTrue(np.array_equal(pool["viscosity"][bought.candidate], bought.parameters["viscosity"]))
        made = run.load().predict(run.test()[:, 0], 4, parameters=test).mean
        self.assertEqual(made.shape, run.test().shape)
        self.assertEqual(self.run_.pool_parameters(), {})

    def test_test_trajectories_begin_with_states_of_their_own(self):
        test = self.run_.test()

        self.assertEqual(test.shape, (8, 5, 1, 16))
        self.assertTrue(np.isfinite(test).all())

    def test_files_that_a_study_names_are_its_pool_and_test_set(self):
        np.save(path("pool.npy"), self.run_.pool()[:6])
        np.save(path("test.npy"), self.run_.test()[:2])
        run = stap.run("demo", out=path("of-files"), options=CPU, quiet=True, rounds=0, pool=0,
                       initial={"name": "file", "path": path("pool.npy")},
                       test={"name": "file", "path": path("test.npy")},
                       **{**{k: v for k, v in SMALL.items() if k not in ("pool", "test", "rounds")}, "study.test": 0,
                          "pde.points": 16, "network.modes": [8]})

        self.assertTrue(np.array_equal(run.pool(), self.run_.pool()[:6]))
        self.assertTrue(np.array_equal(run.test(), self.run_.test()[:2]))

    def test_a_sweep_is_its_runs(self):
        done = program("sweep", "demo", "--grid", "method=random,sbal", "--out", path("sweep"), *CPU,
                       "pde.points=16", "network.modes=[8]", "train.epochs=1", "pool=8", "test=2", "rounds=1",
                       "budget=3", "study.initial=1", "study.steps=3")
        self.assertEqual(done.returncode, 0, done.stderr)

        sweep = stap.Sweep(path("sweep"))

        self.assertEqual(list(sweep), ["method=random", "method=sbal"])
        table = sweep.metric("rmse")
        self.assertEqual(table.shape, (2, 2))
        self.assertTrue(np.array_equal(table[1], sweep["method=sbal"].metric("rmse")))
        self.assertIn("sbal", sweep.table("--baseline", "random"))
        with self.assertRaisesRegex(FileNotFoundError, "stap.Sweep"):
            stap.Run(path("sweep"))


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for v in value:
            yield from numbers_in(v)
    elif isinstance(value, (int, float)):
        yield value


class Solvers(Case):
    def study(self, name, solver, **more):
        return stap.run(HEAT, solver=solver, out=path(name), options=CPU, quiet=True, **more)

    def test_every_step_is_the_functions_and_is_asked_once(self):
        asked = []

        def step(u, info):
            asked.append(u.tobytes())
            return heat(u, info)

        run = self.study("counted", step)
        bought = run.transitions
        again = self.study("counted", lambda u, info: self.fail("asked again"))

        for u, v in zip(bought.inputs, bought.outputs):
            info = mock.Mock(dt=0.1, lengths=(1.0,))
            self.assertTrue(np.array_equal(heat(u, info), v))
        self.assertEqual(len(bought), 2 * 3 + 5)
        self.assertEqual(len(asked), len(bought) + 2 * 3)  # and two test trajectories
        self.assertEqual(len(set(asked)), len(asked))
        self.assertEqual(again.rounds, run.rounds)

    def test_slots_are_threads_and_change_nothing(self):
        threads = set()

        def step(u, info):
            threads.add(threading.get_ident())
            time.sleep(0.01)
            return heat(u, info)

        alone = self.study("counted", heat)
        run = self.study("threads", step, slots=3, **{"study.test": 3, "pde.label": "heat-3"})

        self.assertGreater(len(threads), 1)
        self.assertNotIn(threading.get_ident(), threads)
        self.assertTrue(np.array_equal(run.transitions.outputs[:6], alone.transitions.outputs[:6]))

    def test_an_exception_is_the_cause_and_the_same_call_continues(self):
        study = {**HEAT, "pde": {**HEAT["pde"], "label": "heat-failing"}}
        said = io.StringIO()

        def broken(u, info):
            raise ZeroDivisionError("the viscosity is missing")

        with mock.patch.object(sys, "stderr", said), self.assertRaises(stap.Error) as caught:
            stap.run(study, solver=broken, out=path("failing"), options=CPU)
        run = stap.run(study, solver=heat, out=path("failing"), options=CPU, quiet=True)

        self.assertEqual(caught.exception.code, 7)
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        self.assertIn("the first 3 answers all failed", str(caught.exception))
        # The traceback once, with this file's line, and none of the package's own.
        self.assertEqual(said.getvalue().count('in broken\n'), 1)
        self.assertNotIn("_serve", said.getvalue())
        self.assertEqual(len(run.transitions), 11)

    def test_a_wrong_shape_is_a_failure_that_says_so(self):
        study = {**HEAT, "pde": {**HEAT["pde"], "label": "heat-wrong"}}

        with mock.patch.object(sys, "stderr", io.StringIO()), self.assertRaises(stap.Error) as caught:
            stap.run(study, solver=lambda u, info: u[0], out=path("shape"), options=CPU)

        self.assertIn("expected (1, 16)", str(caught.exception))

    def test_setup_comes_first_and_retries_are_asked_again(self):
        study = {**HEAT, "pde": {**HEAT["pde"], "label": "heat-retried"}}
        events = []

        def step(u, info):
            events.append("step")
            if events.count("step") == 2:
                raise stap.Retry("no licence")
            return heat(u, info)

        with mock.patch.object(sys, "stderr", io.StringIO()):
            run = stap.run(study, solver=step, setup=lambda info: events.append(info.shape),
                           out=path("retried"), options=CPU)

        self.assertEqual(events[:2], [(1, 16), "step"])
        self.assertEqual(events.count("step"), 11 + 6 + 1)
        self.assertEqual(len(run.transitions), 11)

    def test_other_solvers_are_sections(self):
        with self.assertRaisesRegex(TypeError, "expected a function"):
            stap.run(HEAT, solver="heat.py")
        with self.assertRaisesRegex(TypeError, "give solver=function"):
            stap.run(HEAT, setup=print)
        with self.assertRaises(stap.Error) as caught:
            stap.run(HEAT, solver={"name": "worker", "argv": ["./nowhere"]}, out=path("nowhere-run"),
                     options=CPU, quiet=True)
        self.assertIn("nowhere", str(caught.exception))

    # Ends a process of its own in its second call, and continues its run here.
    def stopped(self, name, signal_number):
        script = textwrap.dedent("""
            import signal, sys, time
            # A shell that started the tests in the background has it ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.path.insert(0, %r)
            import stap
            from arrays_test import heat
            from support import CPU, HEAT
            calls = []

            def step(u, info):
                calls.append(1)
                if len(calls) == 9:  # of the study itself: the test set takes six
                    print("now", flush=True)
                    time.sleep(60)
                return heat(u, info)

            stap.run(HEAT, solver=step, out=sys.argv[1], options=CPU, **{"pde.label": sys.argv[2]})
            """) % os.path.dirname(os.path.abspath(__file__))
        process = subprocess.Popen([sys.executable, "-c", script, path(name), name], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "now\n")

        process.send_signal(signal_number)
        said = process.stderr.read()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        # The program itself ends, and leaves the folder to whoever continues.
        deadline = time.monotonic() + 20
        while os.path.exists(os.path.join(path(name), "lock.json")) and time.monotonic() < deadline:
            time.sleep(0.05)

        asked = []

        def step(u, info):
            asked.append(1)
            return heat(u, info)

        run = self.study(name, step, **{"pde.label": name})
        return process.returncode, said, len(asked), run

    def test_interrupted_it_stops_cleanly_and_continues(self):
        code, said, asked, run = self.stopped("interrupted", signal.SIGINT)

        self.assertEqual(code, -signal.SIGINT)  # Python's own end after KeyboardInterrupt
        self.assertIn("KeyboardInterrupt", said)
        self.assertIn("the same call continues", said)
        self.assertEqual(asked, 6 + 11 - 8)  # eight were answered before
        self.assertTrue(np.array_equal(run.transitions.outputs,
                                       self.study("counted", heat).transitions.outputs))

    def test_interrupted_before_the_function_has_heard_a_question_it_ends(self):
        """In its setup, or while a question lies in the socket: the program waits for the answer."""
        from stap import _run

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.alarm(60)  # ends this process: it would wait forever
        self.addCleanup(signal.alarm, 0)
        for setup, more in (("Desk", {}), ("setup", {"setup": interrupt})):
            heard = interrupt if setup == "Desk" else _run._Desk._hear
            with mock.patch.object(_run._Desk, "_hear", heard), self.assertRaises(KeyboardInterrupt):
                stap.run(HEAT, solver=heat, out=path("interrupted-" + setup), options=CPU, quiet=True, **more)

    def test_interrupted_with_slots_it_does_not_wait_for_their_threads(self):
        script = textwrap.dedent("""
            import signal, sys, threading, time
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
            sys.path.insert(0, %r)
            import stap
            from support import CPU, HEAT

            def step(u, info):
                print("now", flush=True)
                threading.Event().wait()  # which no signal ends

            stap.run(HEAT, solver=step, slots=2, out=sys.argv[1], options=CPU, quiet=True)
            """) % os.path.dirname(os.path.abspath(__file__))
        process = subprocess.Popen([sys.executable, "-c", script, path("slots-interrupted")],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "now\n")
        process.send_signal(signal.SIGINT)
        with process.stdout:
            self.assertEqual(process.wait(timeout=60), -signal.SIGINT)  # it would never end

    def test_what_is_no_exception_ends_a_query_of_a_thread_too(self):
        class Odd(BaseException):
            pass

        def step(u, info):
            raise Odd

        signal.alarm(60)  # nobody answered, and the program waited forever
        self.addCleanup(signal.alarm, 0)
        with self.assertRaises(stap.Error) as failed:
            stap.run(HEAT, solver=step, slots=2, out=path("odd"), options=CPU, quiet=True)
        self.assertIsInstance(failed.exception.__cause__, Odd)

    def test_a_thread_that_comes_too_late_writes_into_no_other_file(self):
        from stap import _run

        with _run._Desk(heat, None, 1, pathlib.Path(path("desk"))) as desk:
            pass
        files = [open(path(f"late-{i}"), "w+") for i in range(8)]  # they take the numbers that are free
        desk._wake_up()
        for file in files:
            with file:
                self.assertEqual(os.path.getsize(file.name), 0)

    def test_killed_it_takes_the_program_along_and_continues(self):
        code, _, asked, run = self.stopped("killed", signal.SIGKILL)

        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(asked, 6 + 11 - 8)
        self.assertEqual(len(run.transitions), 11)

    def test_it_finds_a_folder_that_the_program_named_quietly_too(self):
        before = os.getcwd()
        os.makedirs(path("named"))
        os.chdir(path("named"))
        self.addCleanup(os.chdir, before)
        for more, rounds in ((["--stop-after", "0.001s"], 0), ([], 2)):
            with mock.patch("sys.stderr", io.StringIO()) as said:
                run = stap.run(HEAT, solver=heat, options=[*CPU, *more], quiet=True)
            self.assertEqual([str(run.path)], os.listdir("."))
            self.assertEqual(len(run.rounds), rounds)
            self.assertEqual(said.getvalue(), "")

    def test_killed_it_takes_along_a_program_without_a_function_too(self):
        script = textwrap.dedent("""
            import sys
            sys.path.insert(0, %r)
            import stap
            from support import CPU, SMALL

            stap.run("demo", out=sys.argv[1], options=CPU, quiet=True, **{**SMALL, "train.epochs": 10**7})
            """) % os.path.dirname(os.path.abspath(__file__))
        process = subprocess.Popen([sys.executable, "-c", script, path("orphan")])
        self.addCleanup(process.kill)
        lock = os.path.join(path("orphan"), "lock.json")
        while not os.path.exists(lock):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        with open(lock) as file:
            orphan = json.load(file)["process"]
        process.kill()
        process.wait()
        deadline = time.monotonic() + 20
        while os.path.exists(lock) and time.monotonic() < deadline:
            time.sleep(0.05)
        if os.path.exists(lock):
            os.kill(orphan, signal.SIGKILL)
            self.fail("the program went on")

    def test_the_command_line_says_how_such_a_run_continues(self):
        self.study("counted", heat)
        config = os.path.join(path("counted"), "config.yaml")

        done = program("run", config, "--out", path("by-command"), *CPU, "study.rounds=0",
                       "pde.label=unasked")

        self.assertEqual(done.returncode, 7)
        self.assertIn("use stap.run() or stap.simulate() with solver=FUNCTION", done.stderr)


class Simulations(Case):
    @classmethod
    def setUpClass(cls):
        cls.study = {**HEAT, "pde": {**HEAT["pde"], "label": "heat-hybrid"}}
        cls.run_ = stap.run(cls.study, solver=heat, out=path("hybrid"), options=CPU, quiet=True)
        cls.states = cls.run_.pool()[:3]
        cls.info = mock.Mock(dt=0.1, lengths=(1.0,))

    def simulate(self, *states, solver=heat, **more):
        return stap.simulate(self.run_, *(states or (self.states,)), 4, solver=solver, options=CPU[:2],
                             quiet=True, **more)

    def test_the_function_makes_its_share_and_the_surrogate_the_rest(self):
        asked = []

        def step(u, info):
            asked.append(1)
            return heat(u, info)

        with mock.patch.object(sys, "stderr", io.StringIO()) as said:
            done = self.simulate(solver=step, share=0.5, out=path("shared"))
        again = self.simulate(solver=lambda u, info: self.fail("asked again"), share=0.5, out=path("shared"))

        states, by_solver = done.states, done.by_solver
        self.assertEqual((str(done.folder), states.shape), (path("shared"), (3, 5, 1, 16)))
        self.assertEqual(said.getvalue(), "")  # no warning that it is another problem
        self.assertTrue(np.array_equal(states[:, 0], self.states))
        self.assertEqual((len(asked), by_solver.sum(), done.solver_steps.sum()), (6, 6, 6))
        model = self.run_.load()
        for row, step_ in np.ndindex(3, 4):
            u, v = states[row, step_ : step_ + 2]
            if by_solver[row, step_]:
                self.assertTrue(np.array_equal(v, heat(u, self.info)))
            else:
                self.assertLess(relative(v, model.step(u)), ROUNDING)
        self.assertEqual(done.predicted_error.shape, (3, 5))
        self.assertTrue((done.failed_step == -1).all())
        self.assertTrue(np.array_equal(again.states, states))

    def test_interrupted_it_continues_with_the_steps_that_are_missing(self):
        asked = []

        def step(u, info):
            asked.append(u.tobytes())
            if len(asked) == 4:
                raise KeyboardInterrupt
            return heat(u, info)

        with mock.patch.object(sys, "stderr", io.StringIO()) as said, self.assertRaises(KeyboardInterrupt):
            self.simulate(solver=step, share=0.5, out=path("stopped-simulation"))
        self.assertIn("the same call continues", said.getvalue())
        self.assertFalse(stap.Simulation(path("stopped-simulation")).finished)
        made = self.simulate(solver=step, share=0.5, out=path("stopped-simulation"))

        self.assertTrue(made.finished)
        self.assertEqual((len(asked), len(set(asked))), (6 + 1, 6))  # only the interrupted step twice

    def test_without_out_every_question_has_its_folder(self):
        one = self.simulate(self.states[0], tolerance=1e-9, verify=2)
        batch = self.simulate(self.states[:1], tolerance=1e-9, verify=2)
        other = self.simulate(self.states[1], tolerance=1e-9, verify=2)

        # Nothing that was learned is so close: the solver makes every step.
        state = self.states[0]
        for made in one.states[1:]:
            state = heat(state, self.info)
            self.assertTrue(np.array_equal(made, state))
        self.assertEqual(one.by_solver.tolist(), [True] * 4)
        self.assertEqual(batch.states.shape, (1, 5, 1, 16))
        self.assertEqual(one.folder, batch.folder)
        self.assertNotEqual(one.folder, other.folder)

    def test_a_model_file_takes_a_study_and_threads_answer(self):
        file = path("heat.safetensors")
        program("export-model", self.run_.path, "--out", file)

        made = stap.simulate(file, self.states, 4, study=self.study, solver=heat, slots=2, share=0.5,
                             options=CPU[:2], quiet=True, out=path("of-file"))

        self.assertTrue(np.array_equal(made.states, self.simulate(share=0.5, out=path("of-run")).states))

    def test_parameters_of_every_row_reach_both(self):
        run = small_run("parametric", **{"pde.viscosity": {"between": [0.005, 0.05], "draw": "log"},
                                         "network.time_input": True})
        pool, told = run.pool()[:4], run.pool_parameters()["viscosity"][:4]

        made = stap.simulate(run, pool, 4, parameters={"viscosity": told}, share=0.5, quiet=True,
                             options=CPU[:2], out=path("parametric-shared"))

        with h5py.File(made.folder / "simulation.h5") as file:
            self.assertTrue(np.array_equal(file["parameters"][:, 0], told))
        self.assertEqual(made.by_solver.sum(), 8)

    def test_failures_are_the_cause_and_what_cannot_be_is_refused(self):
        def broken(u, info):
            raise ZeroDivisionError("the viscosity is missing")

        with mock.patch.object(sys, "stderr", io.StringIO()), self.assertRaises(stap.Error) as caught:
            self.simulate(solver=broken, share=0.5, out=path("broken"))
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        for use, kind, words in (
                (lambda: self.simulate(out=path("no")), stap.Error, "--tolerance E .* or --share S"),
                (lambda: self.simulate(share=0.5, solver=None, out=path("no")), stap.Error,
                 "stap.simulate.. with solver=FUNCTION"),
                (lambda: self.simulate(self.states[..., 1:], share=0.5), ValueError, "expected"),
                (lambda: self.simulate(share=0.5, parameters={"k": 1}), ValueError, "expected none")):
            with mock.patch.object(sys, "stderr", io.StringIO()), self.assertRaisesRegex(kind, words):
                use()


class Library(Case):
    def test_the_checksum_is_that_of_the_protocol(self):
        lib = _batches()
        lib.stap_checksum.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib.stap_checksum.restype = ctypes.c_uint32

        self.assertEqual(lib.stap_checksum(b"123456789", 9), 0xE3069283)  # RFC 3720
        self.assertEqual(lib.stap_checksum(b"", 0), 0)

    def test_a_library_of_another_version_is_refused_by_name(self):
        from stap import _found

        with mock.patch.object(_found, "VERSION", "0.1.9"), self.assertRaises(stap.Error) as caught:
            _found.library.__wrapped__("stap_c")

        self.assertRegex(str(caught.exception), r"libstap_c.so is of stap .*, but .* package is 0\.1\.9")

    def test_functions_refuse_what_would_crash(self):
        lib = _batches()
        why = ctypes.create_string_buffer(30)
        model = stap.load(small_run().path)

        code = lib.stap_surrogate_rollout(model._handle, -1, 2**40, 2**30, None, None, None, None, why, 30)

        self.assertEqual(code, 2)
        self.assertEqual(why.value, b"'made' is NULL")


if __name__ == "__main__":
    unittest.main()
