# SPDX-License-Identifier: Apache-2.0
# make run    stacks, a campaign of six blocks, verdicts, a report
# make test   every check that a change must pass; what came of each part is said at the end
# make vcluster-up, vcluster-down   a Slurm cluster of virtual nodes on this machine, as root; NODES=2 RATE=1000 (Mbit/s)
# make spack-check   with SPACK_ROOT set: every stack of spack.yaml concretizes, two real installs run
# make benchmarks   what the witness and the harness cost, on an otherwise idle machine
# All set up what they need, and set nothing up twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that start MPI programs by themselves, which would take each other's cores
MEASURING := tests/apps tests/benchmarks tests/lanes tests/vcluster
# The stacks of the quick tier; the libraries below MPI belong to the other tiers
QUICK_STACKS := impi mpich openmpi
.DEFAULT_GOAL := help
.PHONY: help setup run test lint vcluster-up vcluster-down spack-check benchmarks clean

help:
	@sed -n 's/^# make/make/p' Makefile

$(VENV)/run $(VENV)/test: pyproject.toml site/local/venv.sh
	@sh site/local/venv.sh "$(PYTHON)" "$(VENV)" "$(if $(findstring test,$(@F)),.[dev],.)"
	@touch $@

setup: $(VENV)/run
	@$(BIN)/fabricbench setup

run: $(VENV)/run
	@$(BIN)/fabricbench setup $(QUICK_STACKS)
	@$(BIN)/fabricbench run --system local --tier quick --report

lint: $(VENV)/test
	@sh tests/lint.sh "$(BIN)"

test: $(VENV)/test
	@sh tests/all.sh "$(BIN)" $(MEASURING)

vcluster-up: setup
	@site/vcluster/cluster.sh up
	@echo "then: source build/env.sh; reframe -c reframe_checks --system=vcluster -r"

vcluster-down:
	@site/vcluster/cluster.sh down

spack-check: $(VENV)/test
	@$(BIN)/python tests/spack/check.py

benchmarks: setup
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.launch_overhead
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.witness_cost
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.measuring_speed

clean:
	rm -rf build $(VENV)
