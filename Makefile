# A thin front: CMake does the work. `make help` lists what there is.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600

.DEFAULT_GOAL := program
.PHONY: program demo docs test test-docs test-long test-solvers test-zoo test-spool test-slurm \
  test-browser test-onnx test-package deb tarball wheel bench asan fuzz format check clean help

# What needs large packages (a browser, a scheduler, foreign solvers, a bare system) is no part of
# `make test`: it gets a target test-NAME of its own, which installs them and says what it skips.

# CMake refuses a build folder that was made elsewhere: that of a clone that was moved.
ifneq ($(MAKECMDGOALS),clean)
ifneq ($(shell d=$$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' build/release/CMakeCache.txt 2>/dev/null); [ -z "$$d" ] || [ "$$d" -ef . ] || echo moved),)
$(error this folder was moved since it was built: run 'make clean' first)
endif
endif

# Ninja re-runs CMake when a CMake file changes; this rule is for the first time.
build/%/build.ninja:
	@cmake --preset $* || { tools/install-deps --check build; exit 1; }

program: build/release/build.ninja  ## build the program: build/release/stap (the default)
	@cmake --build build/release -j $(JOBS) --target stap_program

demo:  ## set up, build the program and compare two methods in a small study: minutes
	@echo "demo: builds the program (up to 10 minutes on two cores, once), then compares buying whole"
	@echo "      trajectories at random with sbal+stap: ten runs of a small Burgers problem, a minute or two"
	@tools/install-deps build
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@build/release/stap sweep demo --grid method=random,sbal+stap --grid seed=0..4 --out build/demo
	@echo "demo: open build/demo/report.html in a browser"

test:  ## install what is missing, build everything, run all tests
	@tools/install-deps build test faults
	@cmake --preset release
	@cmake --build build/release -j $(JOBS)
	@tools/run-tests build/release

docs:  ## the documentation as a site: build/docs (python3 -m http.server -d build/docs)
	@tools/install-deps build docs
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@tools/write-commands build/release/stap
	@PYTHONWARNINGS=ignore mkdocs build --strict --quiet

test-docs:  ## run every command of the pages for users, check links and generated parts: minutes
	@tools/install-deps build docs
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@tools/draw-readme --check
	@tools/write-commands --check build/release/stap
	@tests/docs/run build/release/stap

test-long:  ## faults of the system, kills, damage, threads, fuzzing, all of it: two hours or so
	@tools/install-deps build test faults fuzz
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program stap_serve stap_unit_tests \
	  stap_e2e_tests stap_threads_tests stap_fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/long/run-all build/release

test-solvers:  ## run examples/solvers: FreeFem++, SUNDIALS, SciPy, OpenFOAM, Open MPI, Fortran
	@tools/install-deps build solvers
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@examples/solvers/run-all

test-zoo:  ## run solvers that misbehave, MPI programs among them, and 300 kills: minutes
	@tools/install-deps build test zoo
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_e2e_tests stap_unit_tests
	@STAP_TEST_ZOO=1 build/release/tests/stap_unit_tests --gtest_filter='*ProcessSlow*'
	@STAP_TEST_ZOO=1 build/release/tests/stap_e2e_tests --gtest_filter='*Zoo*:*Kills*'

test-spool:  ## 200 servers of a spool folder that come and go, kills, a slow file system: minutes
	@tools/install-deps build test
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program stap_serve stap_spool_storm \
	  stap_slow_files stap_test_programs
	@tests/spool/run build/release build

test-slurm:  ## run studies through a Slurm of four nodes on this machine: minutes
	@tools/install-deps build slurm
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@tests/slurm/run-all

test-browser:  ## open reports in Chromium: figures, controls, themes, print, hostile names: minutes
	@tools/install-deps build browser
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@tests/browser/run build/release/stap

deb:  ## Debian packages without CUDA: build/packages/*.deb, checked by lintian
	@tools/install-deps build packages
	@JOBS=$(JOBS) packaging/deb

tarball:  ## trees that run where nothing is installed, with and without CUDA: build/packages/*.tar.gz
	@tools/install-deps build packages
	@JOBS=$(JOBS) packaging/tarball

wheel:  ## the Python package with the program in one wheel: build/packages/*.whl
	@tools/install-deps build packages
	@JOBS=$(JOBS) packaging/wheel

test-package: deb tarball wheel  ## install each package in a bare Debian 12 and use it (root): minutes
	@tests/package/run-all

test-onnx:  ## compute ONNX exports of both families in onnxruntime, from npm: a minute
	@tools/install-deps build onnx
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_program
	@tests/onnx/run build/release/stap

bench:  ## run the benchmarks: build/release/bench.json and a table of it
	@tools/install-deps build bench
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_bench
	@tools/bench build/release

asan:  ## unit and property tests over a library under AddressSanitizer and UBSan
	@tools/install-deps build test
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_sanitized_tests
	@RC_PARAMS="seed=1 max_success=25" tools/run-shards build/release/tests/stap_sanitized_tests \
	  build/release/sanitized.xml

fuzz:  ## feed all that parses with bytes of a fuzzer, FUZZ_SECONDS (600) for each
	@tools/install-deps build test fuzz
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target stap_fuzz
	@tests/fuzz/run build/release $(FUZZ_SECONDS)

format:  ## rewrite the sources in the project's style
	@tools/check-format --fix

check:  ## style and layers, as CI checks them
	@tools/check-format
	@tools/check-layers

clean:  ## remove everything that was built
	rm -rf build

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
