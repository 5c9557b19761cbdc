# The first command that needs the environment builds it in .venv: with PYTHON, or with python3 or another Python that is
# found, and with PyTorch from TORCH_INDEX (tools/bootstrap.py says more).
PYTHON ?=
TORCH_INDEX ?=
PROFILE ?= default
NOTEBOOK ?=
JOBS ?= 2
ASSET ?=
CLAIM ?=
CLASS ?=
TASK ?= multinli
MODEL ?=
OUTPUT ?=
EMBEDDER ?=
POOLING ?=
PROMPT ?=
NAME ?=
OLD ?=
NEW ?=
TEXT ?=
QUERIES ?=
K ?= 10
AT_LEAST ?=
QRELS ?=
MAX_DROP ?=
FLOOR ?=
BRIDGE ?=
OLD_POOLING ?=
OLD_PROMPT ?=
OLD_QUERY_PROMPT ?=
OLD_TEXT_PROMPT ?=
OLD_SIMILARITY ?=
NEW_POOLING ?=
NEW_PROMPT ?=
NEW_QUERY_PROMPT ?=
NEW_TEXT_PROMPT ?=
NEW_SIMILARITY ?=
# Anything but nothing: execute what is unchanged, too.
FORCE ?=
NEIGHBORS ?= figures/default/01_n2o/neighbors.parquet
PYODIDE ?=

# What a user gives is text: make does not expand it, and recipes read it from the environment, where no shell parses it.
GIVEN := PYTHON TORCH_INDEX PROFILE NOTEBOOK JOBS ASSET TASK MODEL OUTPUT EMBEDDER POOLING PROMPT NAME NEIGHBORS \
	CLAIM CLASS OLD NEW TEXT QUERIES K AT_LEAST QRELS MAX_DROP FLOOR BRIDGE OLD_POOLING OLD_PROMPT OLD_QUERY_PROMPT \
	OLD_TEXT_PROMPT OLD_SIMILARITY NEW_POOLING NEW_PROMPT NEW_QUERY_PROMPT NEW_TEXT_PROMPT NEW_SIMILARITY PYODIDE FORCE
$(foreach name,$(GIVEN),$(eval override $(name) := $$(value $(name))))
export $(GIVEN)

BIN := .venv/bin
READY := .venv/complete
# Where the notebooks have their cache: SENTENCE_CACHE may begin with ~, and a relative one counts from this folder.
CACHE = "$${PYTHON:-python3}" -E -c 'from os.path import normpath; from lib.base.paths import CACHE; print(normpath(CACHE))'
# In containers the only user is often root, whom Jupyter refuses unless told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
GATES := "ruff check ." "ruff format --check lib audit tools tests benchmarks" lint-imports codespell mypy
.DEFAULT_GOAL := help
.PHONY: help figures reference exercises student test test-nightly lab data situate swap verdict finetune bench page site lite lint lock cache prune clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

figures: $(READY) ## execute the notebooks and write their figures  [NOTEBOOK=01|replication/n2o] [PROFILE=default|smoke|hub|paper] [JOBS=2] [FORCE=yes]
	@$(BIN)/python -m tools.run --profile="$$PROFILE" --notebook="$$NOTEBOOK" --jobs="$$JOBS" $${FORCE:+--force}

reference: $(READY) ## keep the results of the last run (without SENTENCE_DATA) as the reference  [NOTEBOOK=01] [PROFILE=default|paper]
	@$(BIN)/python -m tools.reference --profile="$$PROFILE" --notebook="$$NOTEBOOK"

test: $(READY) ## run all tests, including every notebook in the smoke profile, or only those of one notebook  [NOTEBOOK=01|replication/n2o]
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $${NOTEBOOK:+tests/notebooks -k "$$NOTEBOOK"}

test-nightly: $(READY) ## run the long tests: 10 kills per job, 2,000 cases of each malformed input, coverage of lib
	@SENTENCE_NIGHTLY=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov=lib --cov-report=term-missing:skip-covered

lab: $(READY) ## open the first lesson in JupyterLab, on this machine only, or just the student copies  [CLASS=yes]
	@JUPYTER_PATH= JUPYTER_CONFIG_PATH="$$PWD/tools/lab" JUPYTER_PREFER_ENV_PATH=1 JUPYTERLAB_WORKSPACES_DIR="$$PWD/.cache/lab" $(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) $${CLASS:+notebooks/student --LabApp.default_url=/lab/tree/00_start_here.ipynb}

data: $(READY) ## fetch up to 200 MB of the papers' free data; show what is here and how to get the rest  [ASSET=glove-6b|all]
	@$(BIN)/python -m tools.data --asset="$$ASSET"

situate: $(READY) ## place your own embedder among the stored ones  [EMBEDDER=file.py:function|intfloat/e5-small-v2] [POOLING=] [PROMPT="query: "] [NAME=own] [NEIGHBORS=file] [OUTPUT=folder] [FORCE=yes]
	@$(BIN)/python -m tools.run --notebook=09 --output="$${OUTPUT:-situated/$${NAME:-own}}" --set=embedder="$$EMBEDDER" --set=pooling="$$POOLING" --set=prompt="$$PROMPT" --set=embedder_name="$$NAME" --set=neighbors_file="$$NEIGHBORS" --set=corpus_name= $${FORCE:+--force}

swap: $(READY) ## report which search results change when one embedder replaces another  [OLD=minilm-avg] [NEW="minilm-avg@int8 file.py:function bm25"] [TEXT=file|BEIR folder] [QUERIES=file] [K=10] [AT_LEAST=0.8] [QRELS=file] [MAX_DROP=0.02] [FLOOR=0.5] [BRIDGE=yes] [NAME=] [OLD_QUERY_PROMPT=] [OLD_TEXT_PROMPT=] [FORCE=yes] (docs/swap.md has all)
	@$(BIN)/python -m lib.swap --old="$$OLD" --new="$$NEW" --text="$$TEXT" --queries="$$QUERIES" --k="$$K" --at-least="$$AT_LEAST" --qrels="$$QRELS" --max-drop="$$MAX_DROP" --floor="$$FLOOR" --bridge="$$BRIDGE" --name="$$NAME" --old-pooling="$$OLD_POOLING" --old-prompt="$$OLD_PROMPT" --old-query-prompt="$$OLD_QUERY_PROMPT" --old-text-prompt="$$OLD_TEXT_PROMPT" --old-similarity="$$OLD_SIMILARITY" --new-pooling="$$NEW_POOLING" --new-prompt="$$NEW_PROMPT" --new-query-prompt="$$NEW_QUERY_PROMPT" --new-text-prompt="$$NEW_TEXT_PROMPT" --new-similarity="$$NEW_SIMILARITY" $${FORCE:+--force}

verdict: $(READY) ## measure a single claim of a paper  CLAIM=n2o-k-stability [PROFILE=default|paper]
	@$(BIN)/python -m tools.verdict --claim="$$CLAIM" --profile="$$PROFILE"

finetune: $(READY) ## fine-tune BERT on sentence pairs, as the N2O paper does  [TASK=multinli|mrpc|sick-e] [MODEL=folder] [OUTPUT=folder]
	@$(BIN)/python -m tools.finetuning --task="$$TASK" --model="$$MODEL" --output="$$OUTPUT"

bench: $(READY) ## compare speed with other libraries and write docs/benchmarks/, except scale.md (half an hour)
	@for part in word_vectors encode search approximate growth sent2vec urae svm localization; do $(BIN)/python -m benchmarks.$$part || exit 1; done

exercises: $(READY) ## check that the solutions to the exercises run  [NOTEBOOK=01] [PROFILE=default|smoke] [JOBS=2]
	@$(BIN)/python -m tools.student --check --profile="$$PROFILE" --notebook="$$NOTEBOOK" --jobs="$$JOBS"

student: $(READY) ## write lessons without answers to notebooks/student/ and with answers to notebooks/teacher/ (git ignores both)  [NOTEBOOK=01] [PROFILE=default|smoke] [JOBS=2]
	@$(BIN)/python -m tools.student --profile="$$PROFILE" --notebook="$$NOTEBOOK" --jobs="$$JOBS"

page: $(READY) ## regenerate docs/{embedders,glossary}.md and the tables in README.md, docs/data.md and docs/teaching.md
	@$(BIN)/python -m tools.pages

site: $(READY) ## build a site of the executed notebooks; open site/index.html  [PROFILE=default|paper]
	@rm -rf .cache/site tools/site/api && $(BIN)/sphinx-build -q -j auto -c tools/site -d .cache/site/doctrees -D results="figures/$$PROFILE" . .cache/site/html && rm -rf site && mv .cache/site/html site && echo "open site/index.html"

lite: $(READY) ## build a site in build/lite/ where lesson 0 runs in the browser  [PYODIDE=folder: no outside requests]
	@$(BIN)/python -m tools.lite

lint: $(READY) ## check style, format, imports, spelling and types, and report every failure
	@failed=0; for gate in $(GATES); do if said=$$($(BIN)/$$gate 2>&1); then echo "ok: $$gate"; else failed=1; printf '%s\nFAILED: %s\n' "$$said" "$$gate"; fi; done; exit $$failed

lock: ## resolve the direct pins again and rewrite requirements.lock (with hashes) and environment.yml
	@"$${PYTHON:-python3}" -I tools/bootstrap.py lock

cache: ## show where the cache is and how big it is
	@cache=$$($(CACHE)) && { du -hd1 "$$cache" 2>/dev/null || echo "no cache in $$cache"; }

prune: ## delete the cache: stored embeddings and records of runs (downloads in data/ stay)
	@cache=$$($(CACHE)) && case "$$(pwd -P)/:$$HOME/" in "$$cache"/*|*:"$$cache"/*) echo "SENTENCE_CACHE: $$cache contains more than a cache; use a separate folder" >&2; exit 2;; *) rm -rf "$$cache";; esac

clean: ## delete the environment, the cache and all figures that git ignores (downloads in data/ and class copies stay)
	@git clean -fdXq -e '!data' -e '!data/**' -e '!notebooks/student/' -e '!notebooks/teacher/' .

$(READY): requirements.txt requirements-dev.txt requirements-models.txt requirements.lock pyproject.toml tools/bootstrap.py
	@"$${PYTHON:-python3}" -I tools/bootstrap.py $^
