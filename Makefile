# SPDX-License-Identifier: Apache-2.0
# make run          set up the stacks, measure six blocks, judge the requirements, write a report
# make test         every check that a change must pass, about 13 minutes; the end lists the result of each part
# make test-quick   lint and the tests that need no stack, 2 minutes
# make lint         the linters alone
# make vcluster-up, vcluster-down   a Slurm cluster of virtual nodes on this machine, as root; NODES=2 RATE=1000 (Mbit/s)
# make rdma-up, rdma-down   a Slurm cluster of emulated machines with RDMA devices, as root on Debian 12; NODES=2
# make test-rdma    a short campaign and its controls on that cluster; it is not part of make test
#                   MVAPICH2=PREFIX MPICH_MX=PREFIX OPEN_MX=TREE add MPI stacks that are installed (site/rdma/README.md)
# make spack-check  with SPACK_ROOT set: concretize every stack of spack.yaml, install two of them
# make benchmarks   the cost of the witness and of the harness, on an otherwise idle machine
# Each of them sets up what it needs, and only what is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that start MPI programs, one at a time
MEASURING := tests/apps tests/benchmarks tests/lanes
# Tests on a Slurm of virtual nodes, which mostly wait for Slurm
CLUSTER := tests/vcluster
# Tests that need both cores and the cluster, and run alone
LONE := tests/vcluster/test_acceptance.py tests/vcluster/test_attribution.py
# Tests that need no stack
QUICK := $(addprefix tests/,attestation campaign doctor files launch models parsers report setup site slurm spack stats verdict)
# The stacks of the quick tier; the libraries below MPI belong to the other tiers
QUICK_STACKS := impi mpich openmpi
# The stacks of the system rdma, the user-level libraries below them, and the processor of its machines
RDMA_STACKS := mpich openmpi mpich-ofi verbs ucx libfabric sockets
RDMA_PROCESSOR := x86-64-v3
# Prefixes of MPI stacks, and Open-MX's source tree, for make test-rdma
MVAPICH2 ?=
MPICH_MX ?=
OPEN_MX ?=
RDMA_LANES := $(if $(MVAPICH2),mvapich2@roce mvapich2@iwarp) $(if $(MPICH_MX),mpich-mx@mx)
.DEFAULT_GOAL := help
.PHONY: help setup run test test-quick lint vcluster-up vcluster-down rdma-up rdma-down test-rdma spack-check benchmarks clean

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
	@sh tests/all.sh "$(BIN)" "$(MEASURING)" "$(CLUSTER)" "$(LONE)"

test-quick: $(VENV)/test
	@sh tests/quick.sh "$(BIN)" $(QUICK)

vcluster-up: setup
	@site/vcluster/cluster.sh up
	@echo "then: source build/env.sh; reframe -c reframe_checks --system=vcluster -r"

vcluster-down:
	@site/vcluster/cluster.sh down

rdma-up: $(VENV)/run
	@$(BIN)/fabricbench setup $(RDMA_STACKS)
	@site/rdma/cluster.sh up
	@echo "then: source build/env.sh; fabricbench run --system rdma --report"

rdma-down:
	@site/rdma/cluster.sh down

test-rdma: $(VENV)/test
	@$(BIN)/fabricbench setup $(RDMA_STACKS)
	@$(if $(MVAPICH2),$(BIN)/fabricbench setup mvapich2 --prefix "$(MVAPICH2)" --target $(RDMA_PROCESSOR))
	@$(if $(MPICH_MX),$(BIN)/fabricbench setup mpich-mx --prefix "$(MPICH_MX)" --target $(RDMA_PROCESSOR))
	@FABRICBENCH_TEST_RDMA=yes FABRICBENCH_TEST_RDMA_LANES="$(strip $(RDMA_LANES))" OPEN_MX="$(OPEN_MX)" \
		$(BIN)/python -m pytest -q tests/rdma

spack-check: $(VENV)/test
	@$(BIN)/python tests/spack/check.py

benchmarks: setup
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.launch_overhead
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.witness_cost
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.measuring_speed
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.campaign_growth

clean:
	rm -rf build $(VENV)
