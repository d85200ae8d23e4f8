# Two commands on a fresh machine, nothing before them: make demo, make test.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test images check format lock clean

VENV := .venv
BIN := $(VENV)/bin
STEP := tools/step $(VENV)/install.log
# An NVIDIA GPU is used when there is one; make DEVICE=cpu … leaves it alone.
DEVICE ?= $(shell nvidia-smi -L >/dev/null 2>&1 && echo cuda || echo cpu)
# The index that has torch's builds for the CPU; the default one has none of them.
TORCH_INDEX := https://download.pytorch.org/whl/cpu

# Each stamp says that what it is named after was installed from the files that it depends on.
TOOLS := $(VENV)/.tools
BOT := $(VENV)/.bot-$(DEVICE)
DEV := $(VENV)/.dev-$(DEVICE)

CONSTRAINTS := constraints/$(DEVICE).txt
OVERRIDES := $(wildcard constraints/$(DEVICE)-overrides.txt)
INSTALL = $(BIN)/uv pip install --python $(BIN)/python --constraints $(CONSTRAINTS) \
	$(addprefix --overrides ,$(OVERRIDES)) --editable '.[$(DEVICE)]'

help:  ## show this
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(BOT)  ## talk to the bot in this terminal, with the demo model and the real vLLM
	@$(BIN)/clawdbot chat --demo

# One worker more than there are cores: some tests wait for real time-outs of the platforms' libraries.
test: $(DEV)  ## run every test, the ones with the real vLLM included
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $$(($$(nproc) + 1)) --dist worksteal -m "not engine and not image"
	@$(BIN)/pytest -m engine

images: $(DEV)  ## build the container images and run them; root, with Debian's buildah and debootstrap
	@$(BIN)/pytest -m image

check: $(DEV)  ## format, lint, types: what CI asks
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --no-error-summary

format: $(DEV)  ## put the code into its one form
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format --quiet

clean:  ## remove .venv and all caches of this folder; the models stay
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
	@find clawdbot adapters tests -name __pycache__ -prune -exec rm -rf {} +

$(TOOLS): constraints/tools.txt tools/find-python
	@python=$$(tools/find-python) && $(STEP) "Making $(VENV)" "$$python" -m venv $(VENV)
	@$(STEP) "Installing pip and uv" $(BIN)/python -m pip install --quiet --requirement constraints/tools.txt
	@touch $@

$(BOT): $(TOOLS) pyproject.toml $(CONSTRAINTS) $(OVERRIDES)
ifeq ($(DEVICE),cpu)
	@$(STEP) "Installing PyTorch for the CPU (200 MB)" $(BIN)/python -m pip install --no-deps --retries 1 \
		--extra-index-url $(TORCH_INDEX) $$(grep '^torch==' $(CONSTRAINTS))
endif
	@$(STEP) "Installing ClawdBot and vLLM ($(DEVICE))" $(INSTALL)
	@touch $@

$(DEV): $(BOT)
	@$(STEP) "Installing the test tools" $(INSTALL) --group dev
	@touch $@

# uv does not read pip's configuration. Where that names a folder of wheels, torch is taken from there, since such a
# machine may have no way to the index; no path gets into the files.
LINKS = $(shell $(BIN)/python -m pip config get global.find-links 2>/dev/null)
COMPILE = $(BIN)/uv pip compile --quiet pyproject.toml --group dev --python-version 3.11 \
	--python-platform x86_64-manylinux_2_28 --no-header --no-emit-find-links --no-emit-index-url

lock: $(TOOLS)  ## compile constraints/*.txt from pyproject.toml again
	@$(STEP) "Compiling constraints/cpu.txt" $(COMPILE) --extra cpu --overrides constraints/cpu-overrides.txt \
		$(if $(LINKS),--find-links $(LINKS),--extra-index-url $(TORCH_INDEX) --index-strategy unsafe-best-match) \
		--output-file constraints/cpu.txt
	@$(STEP) "Compiling constraints/cuda.txt" $(COMPILE) --extra cuda --constraints constraints/cuda.in \
		--output-file constraints/cuda.txt
