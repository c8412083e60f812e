# Every target works in a fresh clone: what it needs is installed into .venv first, once.

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOG := $(VENV)/install.log
PLUGINS := plugins/zapomni-plugin-hello plugins/zapomni-plugin-audit plugins/zapomni-plugin-graph plugins/zapomni-plugin-sessions plugins/zapomni-plugin-fastembed
# Whoever needs certain versions puts a constraints.txt here.
CONSTRAINTS := $(wildcard constraints.txt)
GOAL := $(or $(firstword $(MAKECMDGOALS)),test)

# Any Python can answer this, however old: its version, and whether it is new enough.
ASK := import sys; print("%d.%d" % sys.version_info[:2] + (" will do" if sys.version_info >= (3, 11) else " is too old"))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A PYTHON that the user named, and that is not the one in .venv, gets a .venv of its own.
ifneq ($(origin PYTHON),file)
ifneq ($(shell $(PYTHON) -c '$(ASK)' 2>/dev/null),$(shell $(BIN)/python -c '$(ASK)' 2>/dev/null))
ANOTHER := yes
.PHONY: $(STAMP)
endif
endif

.DELETE_ON_ERROR:
.PHONY: help venv test test-stores check suite lint types layers docs demo bench quality tokens soak inspector clients clean

help: ## list these targets
	@echo 'usage: make TARGET [PYTHON=python3.12]'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

venv: $(STAMP) ## install Zapomni, its plugins and the tools for working on it into .venv

test: check suite ## everything that must hold: check, then all tests, then the coverage floors

test-stores: $(STAMP) ## the tests on database servers, which they download and start
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'stores and not soak' tests plugins

check: lint types layers docs ## lint, format, types, layers and docs

docs: $(STAMP) ## build the documentation into docs/_build/html
	@$(BIN)/sphinx-build -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html
	@echo 'docs: docs/_build/html/index.html'

demo: $(STAMP) ## see Zapomni at work
	@$(BIN)/zapomni demo

bench: $(STAMP) ## measure speed, each figure beside its baseline
	@$(BIN)/python benchmarks/run.py

quality: $(STAMP) ## measure how well the search finds; DATA=FOLDER names other sets than our own, EMBEDDER=NAME another embedder
	@$(BIN)/python -m benchmarks.quality.run $(if $(DATA),--data '$(DATA)') $(if $(EMBEDDER),--embedder '$(EMBEDDER)')

soak: $(STAMP) ## the long fault and load tests, 25 minutes at most
	@$(BIN)/python -m pytest -m soak --session-timeout=1500 tests

tokens: $(STAMP) ## count the tokens of the tools and their answers, as docs/reference/tokens.md has them
	@$(BIN)/python -m benchmarks.tokens

clients: $(STAMP) ## test with agents and libraries from npm and PyPI, and with the MCP Inspector; installs 3 GB once
	@$(BIN)/python -m pytest -m 'clients or inspector' tests/clients tests/e2e/test_inspector.py

inspector: $(STAMP) ## test with the MCP Inspector, which needs node
	@$(BIN)/python -m pytest -m inspector tests/e2e

clean: ## remove .venv and everything else that was made here
	@rm -rf $(VENV) build dist docs/_build docs/reference/_generated .coverage .coverage.* .hypothesis
	@rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

lint: $(STAMP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(STAMP)
	@$(BIN)/mypy

layers: $(STAMP)
	@said=$$($(BIN)/lint-imports 2>&1) || { echo "$$said"; exit 1; }
	@echo 'layers: every import goes down'

# pytest-cov combines what xdist's workers measured; tests/conftest.py says which programs that tests start are measured too.
suite: $(STAMP)
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m 'not clients and not inspector and not soak' --cov --cov-report= tests plugins
	$(call floor,95,zapomni_core/host/registry.py$(comma)zapomni_mcp/tools/*)
	$(call floor,90,zapomni_core/*)
	$(call floor,90,zapomni_mcp/*)

comma := ,
REPORT := $(BIN)/coverage report --precision=1
floor = @if $(REPORT) --include='$(2)' --fail-under=$(1) --format=total >/dev/null 2>&1; \
	then echo "coverage of $(2): $$($(REPORT) --include='$(2)' --format=total) %, at least $(1)"; \
	else $(REPORT) --include='$(2)' --fail-under=$(1); exit 1; fi

# The stamp comes last: an installation that was interrupted does not look done. After a minute, the last line of pip's log
# is printed now and then.
$(STAMP): pyproject.toml $(PLUGINS:%=%/pyproject.toml) $(CONSTRAINTS)
	@rm -f $(STAMP)
	@if [ '$(ANOTHER)' ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then $(make_venv); fi
	@echo 'Installing Zapomni, its plugins and the tools for working on it into $(VENV): about a minute, once.'
	@( sleep 60 >/dev/null 2>&1; \
		while kill -0 $$$$ 2>/dev/null; do tail -n 1 $(LOG) | cut -c 1-100; sleep 20 >/dev/null 2>&1; done ) & progress=$$!; \
	$(BIN)/python -m pip install $(CONSTRAINTS:%=-c %) -e '.[dev,docs]' $(PLUGINS:%=-e %) >$(LOG) 2>&1; status=$$?; \
	kill $$progress; \
	[ $$status = 0 ] || { cat $(LOG) >&2; echo 'pip could not install Zapomni; its output is above.' >&2; exit 1; }
	@touch $(STAMP)

make_venv = \
	version=$$($(PYTHON) -c '$(ASK)' 2>/dev/null) || version='cannot be run'; \
	case $$version in \
	*'will do') ;; \
	*'too old') echo "Zapomni needs Python 3.11 or newer, and '$(PYTHON)' is Python $${version% is*}: name another, such as make $(GOAL) PYTHON=python3.12" >&2; exit 1 ;; \
	*) echo "Zapomni needs Python 3.11 or newer, and there is no '$(PYTHON)' here: install Python, or name one, such as make $(GOAL) PYTHON=python3.12" >&2; exit 1 ;; \
	esac; \
	rm -rf $(VENV); mkdir $(VENV); \
	$(PYTHON) -m venv $(VENV) >$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
