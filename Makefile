# The commands are `make tables`, `make test` and `make page`; `make help` lists the rest.
# This file only orders things: what to build is CMake's, how to install is in scripts/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := tables

# A machine with nvcc builds kernels/cuda too, GPU or not.
CUDA_HOME ?= /usr/local/cuda
NVCC := $(or $(shell command -v nvcc),$(wildcard $(CUDA_HOME)/bin/nvcc))
PRESET ?= $(if $(and $(NVCC),$(wildcard kernels/cuda)),cuda,cpu)

# PyTorch is the machine's own: not one of the pinned tools.
ifndef TORCH_PYTHON
TORCH_PYTHON := $(or $(shell command -v python3),python3)
endif

# Of Python that is installed what is used is compiled then, and kept: by each process anew, torch takes three times as
# long. Images for containers forbid that.
unexport PYTHONDONTWRITEBYTECODE

# Pinned tools in build/venv go before the system's.
export PATH := $(CURDIR)/build/venv/bin:$(PATH)

SOURCES = git ls-files --cached --others --exclude-standard -- $(1)

.PHONY: tables accuracy exact exact-kept vllm-questions releases questions tapes breadth league league-played league-rivals overview architecture test tested cpp-tests sanitized wheel manylinux page site fuzz measure measure-pytorch quality compare-pytorch build format style lint clean help system system-web

tables: build build/venv/tables.stamp  ## the article's tables and figures, in build/report/ (RUN=FILE of data/runs, SOURCE=predicted)
	mkdir -p build/report
	build/bench --device=virtual:h200 --benchmark_out=build/report/bench.json --benchmark_out_format=json
	python -m vramfit_plots --fit build/fit $(if $(RUN),--measured $(RUN)) $(if $(SOURCE),--source $(SOURCE))

accuracy: build build/venv/tables.stamp  ## PyTorch's memory, predicted against measured, into build/accuracy/ (REFERENCE=FILE or folder of make measure-pytorch)
	python -m vramfit_plots.accuracy_report --fit build/fit $(if $(REFERENCE),--reference '$(REFERENCE)' --out build/accuracy/reference,--out build/accuracy)

exact: wheel build/venv/tables.stamp build/exact/exact.stamp  ## PyTorch's reference cases on the stand-in, beside what was measured, into build/exact/ (ONLY=PART of a case's name), then questions
	PYTHONPATH=scripts python -m exact --only '$(ONLY)'
	$(if $(ONLY),,$(MAKE) questions)

questions: build wheel build/venv/tables.stamp build/exact/exact.stamp  ## random questions of every type that fit answers, beside what PyTorch takes of the stand-in, into build/questions/ (COUNT=300, SEED=1)
	PYTHONPATH=scripts python -m random_questions $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

vllm-questions: build wheel  ## random starts of vLLM on the stand-in, and what fit answers to them (VRAMFIT_VLLM=a Python with vLLM 0.26; COUNT=200, SEED=1)
	PYTHONPATH=scripts python -m vllm_questions $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

exact-kept: build/venv/tables.stamp  ## data/exact.jsonl's table, into build/exact/, and its picture, into plots/pictures/; plays nothing
	PYTHONPATH=scripts python -m exact --kept
	cp build/exact/run.png plots/pictures/

RELEASES := 2.9 2.11 2.13 2.15 transformers-5.24

releases: wheel build/venv/tables.stamp $(RELEASES:%=build/releases/%/done)  ## pinned cases with releases of PyTorch and transformers on the stand-in, into data/releases/, and what moved (ONLY='NAME …'; 11 GB of disk)
	PYTHONPATH=scripts:build/python python -m releases --only '$(ONLY)'

tapes: wheel build/exact/exact.stamp  ## what models of transformers ask of PyTorch, recorded on the stand-in, into build/tapes/, and what moved (ONLY='TYPE …')
	mkdir -p build/tapes
	HF_HUB_OFFLINE=1 PYTHONPATH=build/python python -m vramfit run --gpu h200 -- build/exact/bin/python scripts/tapes build/tapes $(ONLY)

breadth: wheel build/venv/tables.stamp build/exact/exact.stamp  ## every type of causal language model that transformers has, small, on the stand-in, into build/breadth/ (ONLY=PART of a type's name)
	PYTHONPATH=scripts python -m breadth --only '$(ONLY)'

league: wheel build/venv/tables.stamp  ## what others measured on their own cards, beside what vramfit says, into build/league/, and its picture, into plots/pictures/
	PYTHONPATH=scripts python -m league
	cp build/league/league.png plots/pictures/

league-played: wheel build/venv/tables.stamp build/exact/exact.stamp  ## the league's rows that are played on the stand-in, into build/league/
	PYTHONPATH=scripts python -m league.play

league-rivals: wheel build/venv/tables.stamp build/exact/exact.stamp  ## what else says how much memory a run takes, on all reference cases that it answers, into build/league/
	PYTHONPATH=scripts python -m league.rivals

overview: wheel build/venv/tables.stamp  ## README's figure, every runtime predicted against measured, into plots/pictures/
	PYTHONPATH=scripts python -m overview
	cp build/overview/overview.png plots/pictures/

architecture: build/venv/tables.stamp  ## the picture of docs/architecture.md, read off the tree, into plots/pictures/
	PYTHONPATH=scripts python -m architecture
	cp build/architecture/architecture.png plots/pictures/

measure: build  ## this machine's GPU: the rows that answer the article, into data/runs/, and what changed since the run before
	scripts/measure

measure-pytorch:  ## PyTorch's reference cases on this GPU, into data/reference/ (ONLY=PART of a case's name, CASES=FILE, TORCH_PYTHON=FILE)
	scripts/measure_pytorch.py --python '$(TORCH_PYTHON)' --only '$(ONLY)' $(if $(CASES),--cases '$(CASES)')

quality:  ## trains a 124M model on this GPU, PyTorch beside it, and says what fewer bits cost it, into build/quality/ (TOKENS=FOLDER, TORCH_PYTHON=FILE)
	PYTHONPATH=scripts '$(TORCH_PYTHON)' -m quality --build --tokens '$(or $(TOKENS),build/corpus)'

compare-pytorch:  ## PyTorch and bench in turn on this GPU, into data/runs/ (ONLY=PART of a row's name, TORCH_PYTHON=FILE)
	scripts/compare_pytorch.py --python '$(TORCH_PYTHON)' --only '$(ONLY)' --check
	$(MAKE) build
	scripts/compare_pytorch.py --python '$(TORCH_PYTHON)' --only '$(ONLY)'

# PyTorch is fetched and unpacked, which takes a minute of one core, while what is tested is compiled. That goes in
# two lanes, since installing, linking and packing keep one core busy: the wheel, which is mostly that, beside the page.
test: system  ## every test, C++ and Python
	@mkdir -p build
	@$(MAKE) build/exact/exact.stamp >build/exact.log 2>&1 & exact=$$!; \
	trap 'kill $$exact 2>/dev/null || true' EXIT; \
	export CMAKE_BUILD_PARALLEL_LEVEL=$$(nproc); $(MAKE) build; $(MAKE) --jobs=2 tested; \
	wait $$exact || { cat build/exact.log; echo 'Tests that want PyTorch are left out: see above'; }
	scripts/test $(PRESET)

tested: page cpp-tests build/venv/tables.stamp

cpp-tests: build wheel
	cmake --build --preset $(PRESET)

sanitized: build/asan/build.ninja  ## C++ tests, but bench's and the GPU's, with AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --build --preset asan
	ctest --preset asan --parallel "$$(nproc)"

wheel: build build/venv/wheel.stamp  ## the Python package, into build/wheels/ and, to be imported, build/python/
	scripts/wheel $(PRESET)

manylinux: build build/venv/wheel.stamp  ## the same wheel for glibc 2.28 and newer, whichever this machine has, into build/manylinux/
	scripts/wheel $(PRESET) 2.28

page: build/wasm/build.ninja build/venv/tables.stamp build/venv/web.stamp  ## the estimator as WebAssembly and the page around it, into build/site/
	cmake --build --preset wasm
	python web/build.py build/wasm/bin/vramfit.wasm build/site

site: tables page  ## the page, the report and the docs, into build/site/: open index.html, or put it on any host
	python web/site.py build/site

fuzz: build build/venv/tables.stamp  ## hours of random questions, command lines, configs and runs, into build/fuzz/ (PERCENT=1: less)
	cmake --build --preset $(PRESET) --target config_mutations
	scripts/fuzz build/$(PRESET)/bin/config_mutations $(PERCENT)

build: build/$(PRESET)/build.ninja  ## build/bench, build/fit and build/compare
	cmake --build --preset $(PRESET) --target bench fit compare
	ln -sfn $(PRESET)/bin/bench build/bench
	ln -sfn $(PRESET)/bin/compare build/compare
	ln -sfn $(PRESET)/bin/fit build/fit

format: build/venv/lint.stamp  ## rewrite C++ and Python in the project's style
	$(call SOURCES,'*.h' '*.cpp' '*.cu' '*.cuh') | xargs -r clang-format -i
	ruff check --quiet --fix-only .
	ruff format --quiet .

style: build/venv/lint.stamp
	$(call SOURCES,'*.h' '*.cpp' '*.cu' '*.cuh') | xargs -r clang-format --dry-run -Werror
	ruff check .
	ruff format --check .

lint: style build/lint/build.ninja  ## style, clang-tidy, ruff; changes nothing
	$(call SOURCES,'model/*.cpp' 'kernels/cpu/*.cpp' 'runtimes/*.cpp' 'estimator/*.cpp' 'bench/*.cpp' \
	  'standin/*.cpp') \
	  | xargs -r -n 1 -P "$$(nproc)" clang-tidy -p build/lint --quiet

clean:  ## remove build/, the Python venv included
	rm -rf build

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Everything below makes sure that what the targets above need is there, at little cost when it is.
system:
	@scripts/install

# cuDNN's C++ headers come from PyPI, unless .cudnn-frontend/include holds them already.
build/cuda/build.ninja: | $(if $(wildcard .cudnn-frontend),,build/venv/cuda.stamp)

build/%/build.ninja: CMakePresets.json | system
	cmake --preset $*

# Emscripten and a browser are large: they are asked for where the page is.
build/wasm/build.ninja: | system-web
build/venv/web.stamp: | system-web

system-web: system
	@scripts/install web

build/venv/%.stamp: requirements/%.lock scripts/venv | system
	scripts/venv $*

# PyTorch is large, and wants other versions of what is in build/venv.
build/exact/exact.stamp: requirements/exact.lock scripts/venv | system
	scripts/venv exact build/exact

build/releases/%/done: requirements/release-%.lock scripts/venv | system
	scripts/venv release-$* build/releases/$*
	touch $@
