# make run         environment if needed, then the papers' methods on a task (TASK=, METHOD=, DATA=, ARGS= to change it);
#                  DATA=FOLDER takes your data in place of the built-in sample, DATA= looks for data as bench run does
# make install     the environment .venv alone
# make test        the tests, in three processes
# make test-long   long proofs too
# make chaos       faults by the hundred: kills, stops, damages, full disks (PART=...: some of it); hours
# make check       lint and types
# make docs        the documentation as a site in build/docs/site, which needs no network to be read
# make boards      README's shown output and leaderboards/index.html again, from the committed records
# make gpu         what a machine with one GPU shows, in nine minutes (RECORD=... to write it elsewhere)
# make real        a pretrained model fine-tuned by three objectives, in 40 minutes on two cores
# make paper-rows  rows at the papers' size for two of their tables, in slices of nine minutes (ARGS='--scratch')
# make grid        a kept board on real rows, in slices of 90 minutes (ARGS='--board mid': pretrained)
# make perf        time and memory of every loss and training step, and of every part that claims to be fast
# PYTHON=...       the Python of the environment; by default the newest that works here, from 3.13 down to 3.11
# TORCH_INDEX=...  package index of a CPU build of torch, e.g. https://download.pytorch.org/whl/cpu

# One that starts, is of a version that torch has wheels for, and can make environments: a name alone proves nothing.
usable = import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3 python,\
	$(shell $(name) -c '$(usable)' >/dev/null 2>&1 && echo $(name))))
HAS_PYTHON = test -n '$(PYTHON)' || { echo 'No Python 3.11, 3.12 or 3.13 with the module venv works here.' \
	'Install one, or name yours: make PYTHON=/path/to/python' >&2; exit 1; }
TASK ?= logicnlg
METHOD ?= papers
DATA ?= sample
ARGS ?=
PART ?=
RECORD ?= tools/gpu/measured.json
BIN := .venv/bin

.PHONY: run install test test-long chaos check types links docs boards gpu real paper-rows grid perf clean

run: .venv/ready
	$(BIN)/bench run --task $(TASK) --method '$(METHOD)' --data-dir '$(DATA)' $(ARGS)

install: .venv/ready

# Three workers for two cores: a test often waits for other processes. Bytecode is kept: the program starts often.
test: .venv/ready
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 3

test-long: .venv/integrations .venv-docs/ready
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -m 'not gpu' --timeout 3600

chaos: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.chaos $(PART)

check: types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready links
	$(BIN)/mypy

# Type checkers and editors see the folders under their installed names through throw-away links (see CONTRIBUTING).
links:
	rm -rf .types
	mkdir -p .types/bench
	for module in bench/*; do ln -sfn ../../$$module .types/bench/; done
	for folder in tasks models metrics leaderboards; do ln -sfn ../../$$folder .types/bench/; done

# Pages that are made of the code come first. The generator of the site has an environment of its own, so that no number
# depends on its packages.
docs: .venv/ready .venv-docs/ready
	$(BIN)/python -m tools.catalogue build/catalogue
	.venv-docs/bin/python -m tools.site

.venv-docs/ready: pyproject.toml constraints.txt
	@$(HAS_PYTHON)
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*project["optional-dependencies"]["docs"])' | xargs .venv-docs/bin/pip install -q -c constraints.txt
	touch $@

boards: .venv/ready
	$(BIN)/python -m tools.regenerate

perf: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.heads
	MALLOC_MMAP_THRESHOLD_=65536 OMP_NUM_THREADS=1 $(BIN)/python -m tools.heads --memory
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.steps
	for benchmark in tools/benchmarks/*.py; do OMP_NUM_THREADS=1 $(BIN)/python $$benchmark; done

# With the environment where there is one, else with PYTHON as it is: nothing is installed, and the package is found
# through the links.
gpu: links
	PYTHONSAFEPATH=1 PYTHONPATH='$(CURDIR)/.types:$(CURDIR)' $(if $(wildcard .venv/ready),$(BIN)/python,$(PYTHON)) \
		-m tools.gpu --record '$(RECORD)' $(PART) $(ARGS)

real: .venv/ready
	$(BIN)/python -m tools.real $(ARGS)

paper-rows: .venv/ready
	$(BIN)/python -m tools.paper_rows $(ARGS)

grid: .venv/ready
	$(BIN)/python -m tools.kept_grid $(ARGS)

.venv/ready: pyproject.toml constraints.txt
	@$(HAS_PYTHON)
	$(PYTHON) -m venv .venv
	@echo 'Installing about 130 packages into .venv, which takes 2 GB (more with CUDA) and some minutes'
	$(if $(TORCH_INDEX),$(BIN)/pip install -q -c constraints.txt --index-url $(TORCH_INDEX) torch)
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	$(BIN)/pip install -q -c constraints.txt --no-deps axe-playwright-python  # of it the tests read axe.min.js alone
	$(MAKE) --no-print-directory -s links
	touch $@

.venv/integrations: .venv/ready
	$(BIN)/pip install -q -c constraints.txt -e '.[integrations]'
	touch $@

clean:
	rm -rf .types .mypy_cache .ruff_cache .pytest_cache build dist *.egg-info
