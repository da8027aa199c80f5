# One command each; every target makes what it needs. Needs Python 3.11+, Rust, a C compiler (and git for the tests).
#   make demo    index a well-known package with a real server and show what a chat request would get
#   make test    all tests          make lint    formatters, linters, types, layers
#   make test-long   what compares or races many thousand times, and real programs behind the providers of models, where environment
#                    variables name them (tests/services/test_real_services.py); an hour or two, most of it a day's work compressed (CARREL_TEST_SOAK=.02: two minutes)
#   make fuzz [SECONDS=60]  fuzz every reader of hostile bytes for so long each (needs a nightly Rust and cargo-fuzz; CPython 3.11 on Linux)
#   make torture [MINUTES=60]  kill, damage, fill and change what servers work on, and compare what they answer
#   make vsix [OFFLINE=1]  the VS Code extension for this machine's platform; OFFLINE=1 puts a Python inside, OFFLINE=FILE one of an archive
#   make vscode-test  the VS Code extension, in a real VS Code (needs Node.js 20+; gets the editor and a browser)
#   make vscode-prompts  what @carrel sends in 12 questions about two projects of registries (docs/quality.md)
#   make vscode-incident  the incident of docs/knowledge.md in a real VS Code: runbook, real tools, dialogs, audit log
#   make vscode-python  a tour of a real VS Code on a machine without a Python that fits
#   make intellij-test  the IntelliJ plugin, over the real server (needs a JDK 17+ and Maven 3.8+; gets a virtual screen)
#   make mutate [JOBS=2]  which fitted constants the frozen corpus of tests/quality notices (minutes; writes tests/quality/mutations.json)
#   make compare OLD=PYTHON NEW=PYTHON [BENCH=FOLDER]  one build against another: quality, time, size, messages
#   make bench   the benchmarks of docs/benchmarks.md (long)        make dist    the wheel
#   make bench-quality BENCH=FOLDER   docs/quality.md; FOLDER holds the benchmark's evaluate.py
#   make bench-scenes CHECKOUTS=FOLDER   the same with a file in front, on the history of the git checkouts in FOLDER
#   make bench-changes CHECKOUTS=FOLDER   what the weights for changes are worth; FOLDER holds what training/histories.json lists
#   make bench-needles FOLDERS="DIR DIR"   is exact text found wherever it stands, in folders of code
#   make bench-pasted FOLDERS="DIR DIR"   is the code found that wrote a pasted message, or that a pasted stack trace goes through, in folders of code
#   make bench-languages BENCH=FOLDER   what a question that isn't English loses
#   make bench-twins PACKAGES=FOLDER   of copies by version or platform, is the right one given; FOLDER holds what tests/bench/twins.json lists
#   make bench-issues CLONES=FOLDER INSTANCES=FILE   are the places found that the fix of an issue changed; tests/bench/issues.py says what these hold
#   make bench-turns CHECKOUTS=FOLDER   are follow-up questions answered as well as in full; FOLDER holds what tests/bench/turns.json and dialogues.json name
#   make bench-usage CHECKOUTS=FOLDER   do "how do I" questions find documents or code, as their answer is; FOLDER holds what tests/bench/usage.json names
#   make bench-sources CHECKOUTS=FOLDER   the same with the documents as a source beside the code
#   make bench-typos FOLDERS="FOLDER …"   are mistyped names found, in any projects
#   make bench-confidence BENCH=FOLDER   does the confidence tell questions with an answer from those without
#   make bench-wild [FOLDERS="FOLDER …"]   do invariants hold on pinned packages, or any projects, that nothing was made on (needs universal-ctags)
#   make bench-vague CHECKOUTS=FOLDER   are vague questions answered, alone and with a rewriting; FOLDER holds any checkouts
#   make bench-spans  do packs show the lines that answer, on pinned packages that pip, npm, cargo, go and Maven fetch
#   make wheels [TARGETS="TARGET …"]  wheels for other platforms, from Linux (docs/platforms.md; needs rustup, gets Zig)
#   make same-wheel  two builds of the Linux wheel in two folders give the same bytes
#   make foreign-core [TARGETS="TARGET …"]  the core's tests as programs of other platforms (.ci/foreign-core says what these need)
#   make windows-smoke arm-smoke musl-smoke  the wheels for Windows, 64-bit Arm and musl, installed and run
#   make lock    refresh requirements/                               make clean   remove what was made

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := --quiet --disable-pip-version-check --require-hashes
RUST := Cargo.toml Cargo.lock $(shell find rust_core -name '*.rs' -o -name '*.toml' -o -name '*.bin')

.PHONY: demo test test-long fuzz torture lint bench bench-quality bench-scenes bench-changes bench-needles bench-pasted bench-twins bench-languages bench-issues bench-turns bench-usage bench-sources bench-typos bench-confidence bench-spans bench-vague bench-wild dist lock clean setup build rust-test python-test lint-types lint-rust lint-others vscode-test vscode-prompts vscode-incident vscode-python vsix intellij-test mutate compare wheels same-wheel foreign-core windows-smoke arm-smoke musl-smoke

demo: $(VENV)/.built
	@$(BIN)/carrel demo

# -rs names what was skipped and why: without Neovim or Emacs their tests can't run.
test: rust-test python-test

# A file's tests stay in one process, as they share its servers; the slowest are printed at the end. Three at a time: most wait for programs.
python-test: build
	$(BIN)/python -m pytest -rs -n 3 --dist loadfile --no-loadscope-reorder --durations=40

rust-test:
	cargo test --locked -p carrel-core -p carrel-hook --lib --bins --tests

# Copilot's SDK leaves its pipes to the garbage collector.
REAL := -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning
# Terminal agents from npm: 1.8 GB, kept outside the checkout.
AGENTS ?= $(HOME)/.cache/carrel-build/agents
test-long: build
	CARREL_TEST_GIT_CASES=$(or $(CARREL_TEST_GIT_CASES),6000) cargo test --locked -p carrel-core --test git_ignore -- --nocapture
	CARREL_TEST_RACES=$(or $(CARREL_TEST_RACES),100000) cargo test --locked -p carrel-core --test store races -- --nocapture
	CARREL_TEST_FUZZ_CASES=$(or $(CARREL_TEST_FUZZ_CASES),20000) cargo test --release --locked -p carrel-core --test hostile_bytes
	CARREL_TEST_FUZZ_CASES=$(or $(CARREL_TEST_FUZZ_CASES),20000) $(BIN)/python -m pytest --timeout 3600 tests/fuzz
	CARREL_TEST_KILLS=$(or $(CARREL_TEST_KILLS),200) $(BIN)/python -m pytest --timeout 3600 tests/index/test_killed_publisher.py tests/e2e/test_processes.py
	CARREL_TEST_STARTS=$(or $(CARREL_TEST_STARTS),200) $(BIN)/python -m pytest tests/e2e/test_outlived.py
	CARREL_TEST_LONG=1 $(BIN)/python -m pytest -rs tests/neovim tests/frontends/mcp/test_other_clients.py tests/release/test_no_telemetry.py
	PYTHON=$(CURDIR)/$(BIN)/python editors/vscode/test.sh languages
	CARREL_TEST_SOAK=$(or $(CARREL_TEST_SOAK),1) $(BIN)/python -m pytest -rs tests/torture/test_soak.py
	CARREL_TEST_CLUSTER=1 $(BIN)/python -m pytest -rs tests/sources/published/test_published_cluster.py
	CARREL_TEST_KILLED_SERVER=1 $(BIN)/python -m pytest -rs tests/sources/published/test_killed_server.py
	CARREL_TEST_INCIDENT=1 $(BIN)/python -m pytest -rs tests/e2e/test_incident.py
	$(BIN)/python -m pytest -rs $(REAL) tests/services/test_real_services.py
	mkdir -p $(AGENTS) && cp tests/frontends/agents/real/programs/*.json $(AGENTS)
	npm install --silent --ignore-scripts --no-audit --no-fund --prefix $(AGENTS) || echo "The agents can't be installed here: their tests are skipped"
	CARREL_TEST_AGENTS=$(abspath $(AGENTS)) $(BIN)/python -m pytest -rs tests/frontends/agents/real

# Leaks are not looked for in `cut`: the scanner of SQL's grammar leaks a few bytes a dollar-quoted text.
SECONDS ?= 60
fuzz: build
	cd rust_core/fuzz && cargo +nightly fuzz build --fuzz-dir . && cargo +nightly run --release --target-dir target/seeds --bin write_seeds -- corpus
	for target in segment cut decode ignore_rules secrets query; do (cd rust_core/fuzz && ASAN_OPTIONS=detect_leaks=$$([ $$target = cut ] && echo 0 || echo 1) cargo +nightly fuzz run --fuzz-dir . $$target corpus/$$target -- \
		-max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=3000 -max_len=8192) || exit 1; done
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/fuzz atheris==3.0.0
	for target in frames proxied_frames splice chat_requests comments uris questions; do PYTHONPATH=$(VENV)/fuzz $(BIN)/python -m tests.fuzz $$target \
		-max_total_time=$(SECONDS) -timeout=10 || exit 1; done

MINUTES ?= 60
torture: build
	$(BIN)/python -m tests.torture --minutes $(MINUTES)

# Side by side: most use one processor. Each platform has a cache of its own, as mypy keeps one platform's in a folder.
lint: setup
	$(MAKE) --no-print-directory --jobs 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) lint-types lint-types-win32 lint-types-darwin lint-rust lint-others

lint-types:
	$(BIN)/mypy

lint-types-%:
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$* python/carrel

lint-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-others:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PYTHONPATH=python $(BIN)/lint-imports --no-cache
	@if command -v luacheck >/dev/null; then cd editors/neovim && luacheck --no-color -q .; \
	else echo "luacheck is not installed (Debian: apt-get install lua-check): the Neovim plugin's Lua is not checked"; fi
	@if command -v shellcheck >/dev/null; then shellcheck $$(git ls-files ':(glob).ci/*' '*.sh'); \
	else echo "shellcheck is not installed (Debian: apt-get install shellcheck): scripts and what workflows run are not checked"; fi
	@if command -v actionlint >/dev/null; then actionlint; \
	else echo "actionlint is not installed (go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12): the workflows are not checked"; fi

vsix: build
	PYTHON=$(CURDIR)/$(BIN)/python OFFLINE="$(if $(filter 1,$(OFFLINE)),1,$(abspath $(OFFLINE)))" editors/vscode/test.sh package

vscode-test: build
	PYTHON=$(CURDIR)/$(BIN)/python editors/vscode/test.sh

vscode-prompts: build
	PYTHON=$(CURDIR)/$(BIN)/python editors/vscode/test.sh prompts

vscode-incident: build
	PYTHON=$(CURDIR)/$(BIN)/python editors/vscode/test.sh incident

vscode-python: build
	PYTHON=$(CURDIR)/$(BIN)/python editors/vscode/test.sh python

intellij-test: build
	CARREL_TEST_PYTHON=$(CURDIR)/$(BIN)/python editors/intellij/test.sh

bench: build
	$(BIN)/python -m tests.bench.index_corpus
	cargo bench -p carrel-core

JOBS ?= 2
mutate: build
	$(BIN)/python -m tests.quality.mutate --jobs $(JOBS)

NEW ?= $(BIN)/python
compare: build
	$(BIN)/python -m tests.bench.compare_builds $(OLD) $(NEW) $(if $(BENCH),--bench $(BENCH))

bench-quality bench-languages bench-confidence: BENCH ?= bench
bench-quality: build
	$(BIN)/python -m tests.bench.quality $(BENCH) --ablate

CHECKOUTS ?= checkouts
bench-scenes: build
	$(BIN)/python -m tests.bench.scenes $(CHECKOUTS)

bench-changes: build
	$(BIN)/python -m tests.bench.changes $(CHECKOUTS)

FOLDERS ?= python
bench-languages: build
	$(BIN)/python -m tests.bench.languages $(BENCH)

bench-twins: build
	$(BIN)/python -m tests.bench.twins $(PACKAGES)

bench-needles: build
	$(BIN)/python -m tests.bench.needles $(FOLDERS)

bench-pasted: build
	$(BIN)/python -m tests.bench.pasted $(FOLDERS)
	$(BIN)/python -m tests.bench.traces $(FOLDERS)

CLONES ?= clones
INSTANCES ?= instances.jsonl
bench-issues: build
	$(BIN)/python -m tests.bench.issues $(CLONES) $(INSTANCES)

bench-confidence: build
	$(BIN)/python -m tests.bench.confidence $(BENCH) --fit

bench-turns: build
	$(BIN)/python -m tests.bench.turns $(CHECKOUTS)

bench-usage: build
	$(BIN)/python -m tests.bench.usage $(CHECKOUTS)

bench-sources: build
	$(BIN)/python -m tests.bench.sources $(CHECKOUTS)

bench-typos: build
	$(BIN)/python -m tests.bench.typos $(FOLDERS)

bench-spans: build
	$(BIN)/python -m tests.bench.spans

bench-vague: build
	$(BIN)/python -m tests.bench.vague $(CHECKOUTS)

bench-wild: build
	$(BIN)/python -m tests.bench.wild $(FOLDERS)

dist: setup
	$(BIN)/maturin build --release --locked --out dist
	@ls -l dist

wheels:
	.ci/wheels $(TARGETS)

same-wheel:
	.ci/wheels x86_64-unknown-linux-gnu
	.ci/same-wheel x86_64-unknown-linux-gnu

foreign-core:
	.ci/foreign-core $(TARGETS)

windows-smoke:
	.ci/wheels x86_64-pc-windows-gnu
	.ci/foreign-smoke dist/*-win_amd64.whl

arm-smoke:
	.ci/wheels aarch64-unknown-linux-gnu
	.ci/foreign-smoke dist/*-manylinux*_aarch64.whl

musl-smoke:
	.ci/wheels x86_64-unknown-linux-musl
	.ci/foreign-smoke dist/*-musllinux*_x86_64.whl

setup: $(VENV)/.installed
build: $(VENV)/.installed $(VENV)/.built

# The demo needs what the server needs, and what builds it; tests need ten times as much.
$(VENV)/.ready: requirements/build.txt
	@.ci/machine "$(PYTHON)" "$(or $(wildcard $(CARGO_TARGET_DIR)),.)"
	@.ci/step "A Python environment" $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@.ci/step "The server's Python packages" $(BIN)/python -m pip install $(PIP) -r requirements/build.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.ready requirements/dev.txt
	@.ci/step "The tests' Python packages" $(BIN)/python -m pip install $(PIP) -r requirements/dev.txt
	@touch $@

$(VENV)/.built: $(VENV)/.ready $(RUST) pyproject.toml
	@test -d python/carrel/bin || touch rust_core/py/build.rs
	@.ci/step "The core, compiled (2 to 4 minutes on two processors, the first time)" $(BIN)/maturin develop --release --locked
	@touch $@

LOCK := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet
lock: setup
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv
	$(VENV)/lock/bin/uv pip compile pyproject.toml --extra dev $(LOCK) -o requirements/dev.txt
	$(VENV)/lock/bin/uv pip compile pyproject.toml --extra mcp --extra proxy -c requirements/dev.txt $(LOCK) --no-annotate -o requirements/server.txt
	echo maturin | $(VENV)/lock/bin/uv pip compile pyproject.toml - -c requirements/dev.txt $(LOCK) --no-annotate -o requirements/build.txt
	printf '%s\n' maturin cargo-zigbuild ziglang lief abi3audit | $(VENV)/lock/bin/uv pip compile - -c requirements/dev.txt $(LOCK) --no-annotate -o requirements/wheels.txt

clean:
	rm -rf tests/frontends/mcp/clients/node_modules editors/vscode/node_modules editors/vscode/dist editors/vscode/out editors/vscode/bundled editors/vscode/*.vsix
	rm -rf editors/intellij/target editors/intellij/*/target
	rm -rf $(VENV) dist target .pytest_cache .mypy_cache .ruff_cache .hypothesis python/carrel/_core*.so python/carrel/_core*.pyd python/carrel/bin
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
