"""Without NumPy: what works, and what the rest says."""

import io
import subprocess
import sys
import unittest
from unittest import mock

import stap
from support import CPU, Case, path, small_run


class Plain(Case):
    def setUp(self):
        # None in sys.modules makes an import fail, whether the package is installed or not.
        blocked = mock.patch.dict(sys.modules, {"numpy": None, "h5py": None, "torch": None})
        blocked.start()
        self.addCleanup(blocked.stop)

    def test_importing_it_imports_no_numpy(self):
        done = subprocess.run([sys.executable, "-c", "import sys, stap; sys.exit('numpy' in sys.modules)"])

        self.assertEqual(done.returncode, 0)

    def test_a_study_runs_and_its_errors_can_be_read(self):
        run = small_run()

        self.assertEqual([row["round"] for row in run.rounds], [0, 1])
        self.assertEqual(run.config["study"]["rounds"], 1)
        self.assertIn("sbal+stap", run.table())

    def test_what_needs_a_package_says_which_and_for_what(self):
        run = small_run()
        for use, words in ((run.metric, "arrays need numpy"), (lambda: run.load(), "surrogates need numpy"),
                           (lambda: stap.run("demo", solver=lambda u, info: u),
                            "a solver in Python needs numpy")):
            with self.assertRaises(ImportError) as caught:
                use()
            self.assertIn(words, str(caught.exception))
            self.assertIn("pip install numpy", str(caught.exception))
        with self.assertRaises(ImportError) as caught:
            stap.torch
        self.assertIn("stap.torch needs torch", str(caught.exception))

    def test_errors_of_the_program_are_exceptions_with_its_words_and_code(self):
        said = io.StringIO()

        with mock.patch.object(sys, "stderr", said), self.assertRaises(stap.Error) as caught:
            stap.run("demo", budgt=3, out=path("wrong"))

        self.assertEqual(caught.exception.code, 2)
        self.assertIn("did you mean", str(caught.exception))
        self.assertIn("did you mean", said.getvalue())

    def test_settings_are_flattened_but_for_sections_with_a_name(self):
        from stap._run import _flat

        self.assertEqual(
            list(_flat({"train": {"epochs": 2, "symmetries": ["u -> -u"]}, "method": "sbal",
                        "initial": {"name": "sines", "terms": 3}, "x": float("inf"), "y": True})),
            [("train.epochs", "2"), ("train.symmetries", '["u -> -u"]'), ("method", '"sbal"'),
             ("initial", '{"name": "sines", "terms": 3}'), ("x", ".inf"), ("y", "true")])

    def test_progress_goes_to_where_sys_stderr_goes(self):
        said = io.StringIO()

        with mock.patch.object(sys, "stderr", said):
            run = stap.run("demo", out=path("told"), options=CPU, seed=1, rounds=0, pool=4, test=1,
                           train={"epochs": 1}, study={"initial": 1, "steps": 2})

        self.assertIn("evaluating", said.getvalue())
        self.assertEqual(run.path.name, "told")

    def test_a_folder_without_a_run_is_refused_with_its_name(self):
        with self.assertRaises(FileNotFoundError) as caught:
            stap.Run(path("nowhere"))

        self.assertIn("nowhere is no folder of a run", str(caught.exception))

    def test_without_out_the_folder_is_the_one_that_the_program_names(self):
        for more in ("quiet=True", "options=['--no-report']"):
            done = subprocess.run(
                [sys.executable, "-c",
                 "import stap; r = stap.run('demo', rounds=0, pool=4, test=1, train={'epochs': 1}, "
                 f"study={{'initial': 1, 'steps': 2}}, {more}); print(r.path, len(r.rounds))"],
                cwd=path(""), capture_output=True, text=True)

            self.assertRegex(done.stdout, r"^demo-sbal\+stap-[0-9a-f]{8} 1$", done.stderr)


if __name__ == "__main__":
    unittest.main()
