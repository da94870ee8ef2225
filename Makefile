# gqlrun. `make` lists the targets.
#
# Targets that build first install the Debian packages they need and do not find.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
INSTALLED = $(DESTDIR)$(PREFIX)
# How often `make torture` kills the program, cuts the power, damages a database.
KILLS ?= 300
POWER_CUTS ?= 150
DAMAGED ?= 2000
# How often `make torture-cluster` kills a worker: KILLS, if it is given.
CLUSTER_KILLS = $(if $(filter file,$(origin KILLS)),500,$(KILLS))
# How many calls of each kind `make torture-faults` lets fail in each command, and the commands, by parts of their names.
FAULTS ?= 40
COMMANDS ?=
# How many operations of each kind `make torture-leaks` makes in one process.
OPERATIONS ?= 1000000
# How often `make torture-batch` kills a run.
BATCH_KILLS ?= 100
# How many trees of connections it extracts.
BATCH_TREES ?= 1000
# Histories of each kind that `make model` runs, the seed of a single one, and the suites.
HISTORIES ?= 10000
SEED ?=
MODEL ?= HistoryTests
# Where `make test-outside` builds. With .build-debug it need not compile the dependencies, but the next build of the tests
# compiles our modules again.
OUTSIDE_BUILD ?= .build-outside
# The laws of `make scaling`, by parts of their names; empty for all.
LAWS ?=
# Connections that `make torture-live` cuts, and subscriptions meanwhile.
CUTS ?= 1000
SUBSCRIPTIONS ?= 50
# Events and subscriptions of `make bench-live`, and connections that its server closes at once.
LIVE_EVENTS ?= 300000
LIVE_SUBSCRIPTIONS ?= 10000
LIVE_CLIENTS ?= 1000
# The response that fills the cache of `make bench-large`, and whether its ids are ascending or scattered.
LARGE_GIGABYTES ?= 2.6
LARGE_IDS ?= ascending
# Tasks, servers and rows of `make bench-batch`; see Benchmarks/Batch/bench.py.
BATCH_TASKS ?= 20000
BATCH_SERVERS ?= demo delayed fixed
BATCH_ROWS ?= 1000000
# The sizes of the benchmark, in posts: 250 are 1.1 MB of JSON, 2500 are 11 MB, 25000 are 112 MB and
# 250000 are 1.1 GB; the other shapes of responses (all, none, or names); how often each is measured.
BENCH_POSTS ?= 250 2500 25000
BENCH_SHAPES ?= all
BENCH_ROUNDS ?= 5
# The results that `make bench-pictures` draws.
RESULTS ?= $(wildcard Benchmarks/kept/*.json)
# How long `make fuzz` runs.
SECONDS ?= 120
# The sanitizer of `make test-sanitized`: thread or address.
SANITIZER ?= thread
# What `make reliability` reads, their revision (that of the work tree, if it is empty), or how long it runs the checks.
LOGS ?=
REVISION ?=
MINUTES ?=
# How many requests `make bench-chain` measures at a time, and how often.
CHAIN_REQUESTS ?= 2000
CHAIN_ROUNDS ?= 11
# A folder with a generator and a document for the responses of the first kind; without it, they are
# made by the benchmark itself.
BENCH_FEED ?= ../shared/bench
# The schema for `make bench-language`; without it, one is made by the benchmark itself.
BENCH_SCHEMA ?= ../shared/real/github.graphql
# Where responses and databases of the benchmark go: 0.6 GB, or 8 GB with those of 1.1 GB.
BENCH_SCRATCH ?= .build-bench/scratch

# Swift's own libraries go into the program: it starts in half the time and needs no Swift installed. For the
# others see docs/decisions/0019-the-path-of-a-request.md.
RELEASE_FLAGS = -debug-info-format $(DEBUG_INFO) --static-swift-stdlib -Xswiftc -cross-module-optimization \
  -Xswiftc -enforce-exclusivity=unchecked $(LINKER_FLAGS)

# Nothing looks up symbols of the program, so they are not exported. See docs/decisions/0056-a-smaller-program.md.
LINKER_FLAGS = -Xlinker --no-export-dynamic $(LLD) $(SYMBOL_ORDER) $(STATIC_CXX)

# The linker is that of the Swift toolchain, if it has one.
TOOLCHAIN := $(dir $(realpath $(shell command -v $(SWIFT))))
LLD := $(if $(wildcard $(TOOLCHAIN)ld.lld),-Xswiftc -use-ld=lld)
# It places the functions side by side that each start calls, so that fewer pages of the program are in memory.
SYMBOL_ORDER := $(if $(LLD),-Xlinker --no-warn-symbol-ordering -Xlinker '--symbol-ordering-file=$(CURDIR)/Packaging/symbol-order.txt')

# The C++ library goes into the program, if there is a static one: the dynamic linker would look up 3,600 symbols for it at
# each start. The linker takes it from a folder that has no other.
CXX_LIBRARY = $(shell $(TOOLCHAIN)clang -print-file-name=libstdc++.a 2>/dev/null)
STATIC_CXX = $(if $(filter /%,$(CXX_LIBRARY)),$(shell mkdir -p .build-link && ln -sf $(CXX_LIBRARY) .build-link/) \
  -Xswiftc -Xclang-linker -Xswiftc '-L$(CURDIR)/.build-link')

# The debug information of builds, which takes a tenth to a fifth of the compiler's time. Without it, a crash prints the
# names of functions, but no lines. DEBUG_INFO=dwarf is for a debugger.
DEBUG_INFO ?= none

# The compiler's memory in pages of 2 MiB, which saves 5 % of its time; see docs/decisions/0062-the-time-of-builds-and-tests.md.
COMPILER_PAGES = GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864

# Under continuous integration a warning in our own code is an error. SwiftPM keeps the flag away
# from dependencies, so they are not built again.
TEST_FLAGS := -debug-info-format $(DEBUG_INFO) $(LLD) $(if $(CI),-Xswiftc -warnings-as-errors)
# Tests and documentation are built without the plugins of SwiftPM; see Package.swift.
TEST_ENV := GQLRUN_MODULES=program

# The modules without networking need yajl and SQLite; the HTTP library links zlib.
CORE_PACKAGES := libyajl-dev libsqlite3-dev libpq-dev libssl-dev pkg-config
# Python selects the data of ICU that the program needs.
PACKAGES := $(CORE_PACKAGES) zlib1g-dev python3
BENCH_PACKAGES := $(CORE_PACKAGES) yajl-tools python3
# Programs of single tests, which are skipped with a message without them.
TEST_PACKAGES := sqlite3 python3 zsh fish bash-completion man-db groff mandoc libjq1 postgresql
TORTURE_PACKAGES := $(PACKAGES) python3 sqlite3 e2fsprogs gcc libc6-dev
TORTURE_CLUSTER_PACKAGES := iproute2
FIGURES_PACKAGES := python3 gcc libc6-dev
SCALING_PACKAGES := python3 gcc libc6-dev binutils valgrind postgresql
CHAIN_BENCH := .build-bench-chain/release/gqlrun-bench-chain
BENCH_BATCH_PACKAGES := $(PACKAGES) python3 python3-venv wrk gcc libc6-dev
PAGES_PACKAGES := python3 python3-venv chromium
BENCH_PEERS_PACKAGES := yajl-tools python3 python3-venv
BENCH_LIVE_PACKAGES := $(PACKAGES) python3 python3-venv gcc libc6-dev
SERVER_PACKAGES := python3 python3-venv curl
CLUSTER_PACKAGES := python3 python3-venv curl slurm-wlm munge

DEB_PACKAGES := dpkg-dev xz-utils binutils
PACKAGES_TEST_PACKAGES := lintian debootstrap skopeo umoci

SOURCES := Sources Plugins Tests Benchmarks/Sources Package.swift Benchmarks/Package.swift Examples
PROGRAM := .build-release/release/gqlrun
MANUAL := .build-release/manual
PIPELINES = $(wildcard pipelines/*.pipeline.yaml)
VERSION = $(shell sed -n 's/^  static let current = "\(.*\)"/\1/p' Sources/gqlrun/RootCommand.swift)
PACKAGED := .build-packages
STAGE := $(PACKAGED)/stage
# The time of the files of packages.
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))
# The releases of Debian of `make test-packages`.
RELEASES ?= bookworm trixie

# $(call install-packages,NAMES): installs the packages that are missing.
#
# A package counts as installed if dpkg lists it, or if its files are found. The package lists are
# fetched only if a package cannot be found without them.
define install-packages
found() { \
  [ "$$(dpkg-query -W -f '$${Status}' "$$1" 2>/dev/null)" != 'install ok installed' ] || return 0; \
  case "$$1" in \
    libyajl-dev) pkg-config --exists yajl 2>/dev/null ;; \
    libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null ;; \
    libpq-dev) pkg-config --exists libpq 2>/dev/null ;; \
    postgresql) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;; \
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;; \
    libssl-dev) pkg-config --exists libcrypto 2>/dev/null ;; \
    yajl-tools) command -v json_verify >/dev/null ;; \
    libjq1) ldconfig -p | grep -q 'libjq[.]so[.]1' ;; \
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;; \
    e2fsprogs) command -v mkfs.ext4 >/dev/null ;; \
    bash-completion) [ -e /usr/share/bash-completion/bash_completion ] ;; \
    man-db) command -v man >/dev/null ;; \
    groff) [ -e /usr/share/groff/current/tmac/an.tmac ] ;; \
    slurm-wlm) [ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/slurmd ] ;; \
    munge) [ -x /usr/sbin/munged ] ;; \
    dpkg-dev) command -v dpkg-shlibdeps >/dev/null ;; \
    xz-utils) command -v xz >/dev/null ;; \
    binutils) command -v objdump >/dev/null ;; \
    iproute2) [ -x /usr/sbin/ip ] || command -v ip >/dev/null ;; \
    *) command -v "$$1" >/dev/null ;; \
  esac; \
}; \
missing=(); \
for name in $(1); do found "$$name" || missing+=("$$name"); done; \
if [ $${#missing[@]} -gt 0 ]; then \
  if ! command -v apt-get >/dev/null; then \
    echo "gqlrun needs what Debian calls $${missing[*]}, and there is no apt-get here: install" \
      "them by hand, then run make again" >&2; \
    exit 1; \
  fi; \
  as_root=(env); \
  if [ "$$(id -u)" != 0 ]; then \
    if ! command -v sudo >/dev/null; then \
      echo "gqlrun needs the Debian packages $${missing[*]}; you are not root and there is no" \
        "sudo. As root, run: apt-get install $${missing[*]}" >&2; \
      exit 1; \
    fi; \
    as_root=(sudo env); \
  fi; \
  apt=("$${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120); \
  install=("$${apt[@]}" install -y --no-install-recommends "$${missing[@]}"); \
  echo "installing $${missing[*]}"; \
  "$${install[@]}" >/dev/null 2>&1 || { "$${apt[@]}" update && "$${install[@]}" >/dev/null; } || { \
    echo "apt-get could not install $${missing[*]}; its reasons stand above" >&2; \
    exit 1; \
  }; \
fi
endef

# $(call prepare,SCRATCH): says what is missing, or why the build takes so long.
define prepare
command -v $(SWIFT) >/dev/null || { \
  echo "gqlrun is built with Swift 6.2 or newer, and there is no \"$(SWIFT)\" in PATH: see" \
    "https://www.swift.org/install/linux" >&2; \
  exit 1; \
}; \
[ -d $(1) ] || echo "building into $(1); the first time takes several minutes"
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## Build, and watch the main job run against the built-in server
	@$(PROGRAM) demo

.PHONY: build
build: packages ## Build the program into .build-release
	@$(call prepare,.build-release)
	@$(COMPILER_PAGES) .ci/quietly .build-release/build.log \
	  $(SWIFT) build -c release --disable-local-rpath $(RELEASE_FLAGS) $$(Packaging/icu-data.py $(SWIFT) .build-release) \
	  --product gqlrun --scratch-path .build-release

.PHONY: install
install: build ## Install program, manual pages and completions below PREFIX (/usr/local)
	@rm -rf "$(MANUAL)" && $(PROGRAM) manual "$(MANUAL)"
	install -D -m 755 -s $(PROGRAM) "$(INSTALLED)/bin/gqlrun"
	install -D -m 644 -t "$(INSTALLED)/share/man/man1" "$(MANUAL)"/*.1
	install -D -m 644 completions/gqlrun.bash "$(INSTALLED)/share/bash-completion/completions/gqlrun"
	install -D -m 644 completions/_gqlrun "$(INSTALLED)/share/zsh/site-functions/_gqlrun"
	install -D -m 644 completions/gqlrun.fish "$(INSTALLED)/share/fish/vendor_completions.d/gqlrun.fish"

.PHONY: uninstall
uninstall: ## Remove what make install installs below PREFIX
	rm -f "$(INSTALLED)/bin/gqlrun" "$(INSTALLED)"/share/man/man1/gqlrun{,-*}.1 \
	  "$(INSTALLED)/share/bash-completion/completions/gqlrun" \
	  "$(INSTALLED)/share/zsh/site-functions/_gqlrun" \
	  "$(INSTALLED)/share/fish/vendor_completions.d/gqlrun.fish"

# The files of packages: what make install installs, ready-made pipelines, and schemas for editors. See
# docs/guide-packages.md.
.PHONY: stage
stage: build
	@rm -rf $(STAGE)
	@SOURCE_DATE_EPOCH=$(EPOCH) $(MAKE) -o build install DESTDIR=$(STAGE) PREFIX=/usr >/dev/null
	@install -D -m 644 -t $(STAGE)/usr/share/gqlrun/pipelines $(PIPELINES)
	@install -D -m 644 -t $(STAGE)/usr/share/gqlrun/schemas pipelines/*.schema.json

.PHONY: deb
deb: stage packages-deb ## Make a Debian package in .build-packages
	@Packaging/deb.sh $(STAGE) $(VERSION) $(PACKAGED)

.PHONY: dist
dist: stage ## Make a tar.xz with its SHA-256 in .build-packages, with the same bytes each time
	@Packaging/dist.sh $(STAGE) $(VERSION) $(PACKAGED)

.PHONY: oci
oci: deb ## Make an OCI image layout in .build-packages, without a container engine
	@Packaging/oci.py $(PACKAGED)/gqlrun_$(VERSION)_*.deb $(VERSION) $(PACKAGED) $(PACKAGED)/cache

.PHONY: test-packages
test-packages: deb dist oci packages-test-packages ## Install, run, upgrade and remove the packages in bare Debian systems (RELEASES), as root
	@Packaging/test-icu.sh $(SWIFT)
	@Packaging/test.sh $(STAGE) $(VERSION) $(PACKAGED) $(RELEASES)

.PHONY: release
release: ## Check version, changelog and tag; make and test the packages; write their checksums to .build-packages/release
	@Packaging/release.sh $(VERSION) $(PACKAGED)

.PHONY: test
test: packages packages-test ## Run all tests (FILTER: only those whose names match it)
	@$(call prepare,.build-debug)
	@$(TEST_ENV) .ci/test .build-debug/test.log $(SWIFT) test --scratch-path .build-debug $(TEST_FLAGS) \
	  $(if $(FILTER),--filter $(FILTER))

# The command is shown, because `make reliability` reads it.
.PHONY: test-sanitized
test-sanitized: packages packages-test ## Run all tests with the thread sanitizer (SANITIZER=address: with that one; FILTER)
	@$(call prepare,.build-$(SANITIZER))
	$(TEST_ENV) $(SWIFT) test --sanitize=$(SANITIZER) --scratch-path .build-$(SANITIZER) $(TEST_FLAGS) \
	  $(if $(filter thread,$(SANITIZER)),-Xswiftc -DGQLRUN_THREAD_SANITIZER) $(if $(FILTER),--filter $(FILTER))

.PHONY: model
model: packages packages-test ## Run random histories of stores and batches against models (HISTORIES, MODEL); SEED repeats one
	@$(call prepare,.build-debug)
	$(TEST_ENV) GQLRUN_HISTORIES=$(HISTORIES) $(if $(SEED),GQLRUN_SEED=$(SEED)) \
	  $(SWIFT) test --scratch-path .build-debug $(TEST_FLAGS) --filter $(MODEL)

.PHONY: scaling
scaling: packages-scaling build ## Count the instructions for n, 2n and 4n of each dimension (LAWS: only these); twice as much may cost 2.3 times as much
	PYTHONDONTWRITEBYTECODE=1 Tests/Scaling/scaling.py $(PROGRAM) $(LAWS)

.PHONY: reliability
reliability: ## Write figures into docs/reliability.md: from outputs of make fuzz, make torture, … (LOGS), or of all for MINUTES
	@[ -n "$(LOGS)$(MINUTES)" ] || { \
	  echo "reliability: nothing to read; LOGS=\"FILE…\" are outputs of make fuzz, make torture, …, MINUTES=n runs them all" >&2; \
	  exit 1; \
	}
	@PYTHONDONTWRITEBYTECODE=1 Tests/Reliability/reliability.py $(if $(REVISION),--revision $(REVISION)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(LOGS)

.PHONY: transcripts
transcripts: packages packages-test ## Write the outputs of commands that have changed into Tests/Transcripts
	@$(call prepare,.build-debug)
	-@$(TEST_ENV) GQLRUN_RECORD=1 $(SWIFT) test --scratch-path .build-debug --filter TranscriptTests $(TEST_FLAGS)
	@git diff --stat -- Tests/Transcripts

.PHONY: test-uploads
test-uploads: build ## Upload a file of 4 GiB, and compare memory and contents
	Tests/Uploads/upload.py $(PROGRAM) 4294967296

.PHONY: test-streams
test-streams: build ## Read a list of a million elements in parts, and compare memory with that for ten thousand
	Tests/Streams/stream.py $(PROGRAM) 10000 100000 1000000

.PHONY: test-pages
test-pages: build packages-pages ## Open the pages of all reports and of inspect in Chromium at three widths, light, dark and printed (SCREENSHOTS: a folder for pictures)
	@[ -x .build-pages/bin/python ] || { python3 -m venv .build-pages && \
	  .build-pages/bin/pip -q install -r Tests/Browser/requirements.txt; }
	PYTHONDONTWRITEBYTECODE=1 .build-pages/bin/python Tests/Browser/pages.py $(PROGRAM) \
	  $(if $(SCREENSHOTS),--screenshots "$(SCREENSHOTS)")
	PYTHONDONTWRITEBYTECODE=1 .build-pages/bin/python Tests/Browser/inspector.py $(PROGRAM) \
	  $(if $(SCREENSHOTS),--screenshots "$(SCREENSHOTS)")

.PHONY: test-load
test-load: build ## Compare profile --rate with servers whose stalls and outages are at known times, and check exit codes
	PYTHONDONTWRITEBYTECODE=1 Tests/Load/stalls.py $(PROGRAM)

.PHONY: pictures
pictures: build packages-pages bench-pictures ## Make the pictures of README.md and docs/benchmarks.md in docs/pictures
	PYTHONDONTWRITEBYTECODE=1 docs/pictures/make.py $(PROGRAM)

.PHONY: test-outside
test-outside: packages ## Build and run packages that use the library from outside this tree
	@$(call prepare,$(OUTSIDE_BUILD))
	$(TEST_ENV) $(SWIFT) build --scratch-path .build-debug --product gqlrun $(TEST_FLAGS)
	TEST_FLAGS="$(TEST_FLAGS)" Tests/Outside/run.sh .build-debug/debug/gqlrun $(OUTSIDE_BUILD)

.PHONY: guides
guides: packages packages-test ## Execute README.md and the pages of docs/ as they are (GUIDES: only these), and compare their output
	@$(call prepare,.build-debug)
	$(TEST_ENV) $(SWIFT) build --scratch-path .build-debug --product gqlrun $(TEST_FLAGS)
	PYTHONDONTWRITEBYTECODE=1 Tests/Guides/run.py .build-debug/debug/gqlrun --self-test
	PYTHONDONTWRITEBYTECODE=1 Tests/Guides/run.py .build-debug/debug/gqlrun $(GUIDES)

.PHONY: test-cluster
test-cluster: packages packages-cluster ## Run Examples/cluster on a Slurm of its own, and check the job for Kubernetes
	@$(call prepare,.build-debug)
	$(TEST_ENV) $(SWIFT) build --scratch-path .build-debug --product gqlrun $(TEST_FLAGS)
	Tests/Cluster/kubernetes.sh .build-cluster
	Tests/Cluster/slurm.sh .build-debug/debug/gqlrun

.PHONY: test-core
test-core: packages-core packages-test ## Run the tests of the modules without networking, in seconds
	@$(call prepare,.build-core)
	@GQLRUN_MODULES=core .ci/test .build-core/test.log $(SWIFT) test --scratch-path .build-core $(TEST_FLAGS)

.PHONY: docs
docs: packages ## Build the documentation of the libraries into .build-docs/site; a warning is an error
	@$(call prepare,.build-debug)
	$(TEST_ENV) $(SWIFT) build --scratch-path .build-debug $(TEST_FLAGS)
	@SWIFT="$(SWIFT)" .ci/docs .build-debug .build-docs

# libFuzzer without its `main`, from the Swift toolchain.
FUZZER = $(lastword $(wildcard $(dir $(realpath $(shell command -v $(SWIFT))))../lib/clang/*/lib/linux/libclang_rt.fuzzer_no_main-$(shell uname -m).a))

.PHONY: fuzz
fuzz: packages ## Fuzz what reads bytes from outside (SECONDS in all, TARGET: one target); inputs and findings are in .build-fuzz
	@[ -n "$(FUZZER)" ] || { echo "fuzz: the Swift toolchain has no libFuzzer (libclang_rt.fuzzer_no_main)" >&2; exit 1; }
	@$(call prepare,.build-fuzz)
	@cd Tests/Fuzz && $(SWIFT) build -c release -debug-info-format none $(LLD) --scratch-path ../../.build-fuzz \
	  -Xlinker "$(FUZZER)" -Xlinker -lstdc++ >../../.build-fuzz.log 2>&1 || { cat ../../.build-fuzz.log >&2; exit 1; }
	@PYTHONDONTWRITEBYTECODE=1 python3 Tests/Fuzz/run.py .build-fuzz/release/gqlrun-fuzz .build-fuzz $(SECONDS) $(TARGET)

.PHONY: differential
differential: packages-core packages-server ## Compare the language module with Python's graphql-core on mutated input
	@Tests/Differential/run.sh "$(CURDIR)/.build-differential" $(DIFFERENTIAL)

.PHONY: differential-parts
differential-parts: packages-core packages-server ## Compare responses in parts with those in one piece, from graphql-core (SEEDS, CASES)
	@Tests/Differential/parts.sh "$(CURDIR)/.build-differential"

.PHONY: types
types: ## Check the types of all modules and tests beside the last debug build (MODULES: only these), in seconds
	@.ci/types .build-debug $(MODULES)

.PHONY: figures
figures: ## Print lines, files, functions, names and labels of the sources (BASE: a revision to compare with)
	@python3 Tests/Figures/figures.py $(if $(BASE),--base $(BASE))

.PHONY: lint
lint: ## Check the format of the sources
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)

.PHONY: format
format: ## Format the sources
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

.PHONY: torture-batch
torture-batch: packages-torture packages-test build ## Kill batch runs (BATCH_KILLS), let their memory end, fill disks, cut the power, damage outputs, extract trees (BATCH_TREES); count every result
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/batch-kill.py $(PROGRAM) $(BATCH_KILLS)
	ORDER=output PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/batch-kill.py $(PROGRAM) $(BATCH_KILLS)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/batch-faults.py $(PROGRAM)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/batch-outputs.py $(PROGRAM)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/trees.py $(PROGRAM) --cases $(BATCH_TREES)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/extract.py $(PROGRAM) $(BATCH_KILLS)

.PHONY: torture-faults
torture-faults: packages-torture build ## Let each system call fail once (FAULTS: of each kind) in every command that writes (COMMANDS: parts of their names)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/faults.py $(PROGRAM) $(FAULTS) $(COMMANDS)

.PHONY: torture-leaks
torture-leaks: packages-torture build ## Make a million small operations in one process (OPERATIONS); memory and open files must stay as they are
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/leaks.py $(PROGRAM) $(OPERATIONS)

.PHONY: torture-live
torture-live: build ## Cut connections of running subscriptions at random bytes (CUTS, SUBSCRIPTIONS); check each event, gaps, memory
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/live.py $(PROGRAM) $(CUTS) $(SUBSCRIPTIONS)

.PHONY: torture-cluster
torture-cluster: packages-torture packages-torture-cluster packages-test build ## Kill, stop and cut off workers of a queue (KILLS), crash its database; count every result and mutation
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/cluster.py $(PROGRAM) $(CLUSTER_KILLS)

.PHONY: bench-cluster
bench-cluster: build packages-test ## Measure workers of a queue in PostgreSQL, beside a journal in SQLite
	PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Batch/cluster.py $(PROGRAM)

.PHONY: bench-batch
bench-batch: build packages-bench-batch ## Measure batch runs and extract beside wrk and a Python script (BATCH_TASKS, BATCH_SERVERS; BATCH_ROWS=0: no million)
	@[ -x .build-bench-batch/bin/python ] || { python3 -m venv .build-bench-batch && \
	  .build-bench-batch/bin/pip -q install -r Benchmarks/Batch/requirements.txt; }
	@for server in $(BATCH_SERVERS); do \
	  PYTHONDONTWRITEBYTECODE=1 .build-bench-batch/bin/python Benchmarks/Batch/bench.py $(PROGRAM) --tasks $(BATCH_TASKS) \
	    --server $$server $(if $(wildcard $(CHAIN_BENCH)),--library $(CHAIN_BENCH)) \
	    --output "Benchmarks/results/batch-$${server//[^a-z0-9-]/_}-$$(date +%Y%m%d-%H%M%S).json"; \
	done
	@[ $(BATCH_ROWS) = 0 ] || PYTHONDONTWRITEBYTECODE=1 .build-bench-batch/bin/python Benchmarks/Batch/bench.py $(PROGRAM) \
	  --million --rows $(BATCH_ROWS) --server fixed
	PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Batch/extract.py $(PROGRAM) --rows 10000 100000 $(filter-out 0,$(BATCH_ROWS))

.PHONY: bench-peers
bench-peers: build packages-bench-peers ## Measure imports beside gql, sqlite-utils and DuckDB (BENCH_POSTS, BENCH_ROUNDS)
	@[ -x .build-bench-peers/bin/python ] || { python3 -m venv .build-bench-peers && \
	  .build-bench-peers/bin/pip -q install -r Benchmarks/Peers/requirements.txt; }
	PYTHONDONTWRITEBYTECODE=1 .build-bench-peers/bin/python Benchmarks/Peers/bench.py $(PROGRAM) --posts $(BENCH_POSTS) \
	  --rounds $(BENCH_ROUNDS) $(if $(wildcard $(BENCH_FEED)/gen.py),--feed "$(BENCH_FEED)") \
	  --output "Benchmarks/results/peers-$$(date +%Y%m%d-%H%M%S).json"

.PHONY: bench-run
bench-run: build packages-bench ## Measure run from a server that sends a file, beside the import of that file (BENCH_ROUNDS)
	PYTHONDONTWRITEBYTECODE=1 Benchmarks/Run/bench.py $(PROGRAM) --rounds $(BENCH_ROUNDS) \
	  $(if $(wildcard $(BENCH_FEED)/gen.py),--feed "$(BENCH_FEED)")

.PHONY: bench-pictures
bench-pictures: ## Draw docs/pictures/bench-*.svg from results of bench-peers and bench-batch (RESULTS: files; those in Benchmarks/kept)
	PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/pictures.py docs/pictures $(RESULTS)

.PHONY: bench-live
bench-live: build packages-bench-live ## Measure subscriptions beside Python and bare clients (LIVE_EVENTS, LIVE_SUBSCRIPTIONS, LIVE_CLIENTS)
	@[ -x .build-bench-live/bin/python ] || { python3 -m venv .build-bench-live && \
	  .build-bench-live/bin/pip -q install -r Benchmarks/Live/requirements.txt; }
	.build-bench-live/bin/python Benchmarks/Live/bench.py $(PROGRAM) --events $(LIVE_EVENTS) \
	  --subscriptions $(LIVE_SUBSCRIPTIONS) --clients $(LIVE_CLIENTS)

.PHONY: bench-large
bench-large: build ## Measure imports, reads and removals of a cache of many gigabytes (LARGE_GIGABYTES, LARGE_IDS)
	PYTHONDONTWRITEBYTECODE=1 Benchmarks/Large/bench.py $(PROGRAM) --gigabytes $(LARGE_GIGABYTES) --ids $(LARGE_IDS) \
	  --folder .build-bench-large/$(LARGE_IDS)-$(LARGE_GIGABYTES)

.PHONY: generated
generated: packages embedded ## Make again what is made from the sources: plugins.md, the schemas of pipeline files and manifests, the embedded files
	$(TEST_ENV) $(SWIFT) build --scratch-path .build-debug --product gqlrun $(TEST_FLAGS)
	.build-debug/debug/gqlrun plugins --markdown > docs/plugins.md
	.build-debug/debug/gqlrun pipeline schema > pipelines/pipeline.schema.json
	.build-debug/debug/gqlrun batch schema > pipelines/batch.schema.json

# The ready-made files are embedded in the library, so that it needs no files of its own.
.PHONY: embedded
embedded:
	@{ \
	  echo '// Made by `make generated` from pipelines/; do not edit it.'; \
	  echo; \
	  echo 'extension ReadyMade {'; \
	  echo '  /// The files of pipelines/ by name.'; \
	  echo '  static let files: [(name: String, text: String)] = ['; \
	  for file in $(sort $(PIPELINES)); do \
	    name=$${file##*/}; \
	    echo "    ("; \
	    echo "      \"$${name%.pipeline.yaml}\","; \
	    echo '      #"""'; \
	    sed -e 's/^\(.\)/      \1/' "$$file"; \
	    echo; \
	    echo '      """#'; \
	    echo '    ),'; \
	  done; \
	  echo '  ]'; \
	  echo '}'; \
	} > Sources/Plugins/ReadyMade/ReadyMade+Files.swift
	@{ \
	  echo '// Made by `make generated` from completions/; do not edit it.'; \
	  echo; \
	  echo 'extension CompletionScript {'; \
	  echo '  /// The files of completions/ by shell.'; \
	  echo '  static let files: [(shell: String, text: String)] = ['; \
	  for entry in bash:gqlrun.bash fish:gqlrun.fish zsh:_gqlrun; do \
	    echo "    ("; \
	    echo "      \"$${entry%%:*}\","; \
	    echo '      #"""'; \
	    sed -e 's/^\(.\)/      \1/' "completions/$${entry#*:}"; \
	    echo; \
	    echo '      """#'; \
	    echo '    ),'; \
	  done; \
	  echo '  ]'; \
	  echo '}'; \
	} > Sources/gqlrun/Manual/CompletionScript+Files.swift

.PHONY: bench
bench: packages-bench ## Measure the cache engine (BENCH_POSTS, BENCH_SHAPES, BENCH_ROUNDS; bench-all: 1.1 GB, too)
	@$(call prepare,.build-bench)
	cd Benchmarks && GQLRUN_MODULES=core $(SWIFT) build -c release $(RELEASE_FLAGS) --scratch-path ../.build-bench
	.build-bench/release/gqlrun-bench run --posts "$(BENCH_POSTS)" --shapes "$(BENCH_SHAPES)" \
	  --rounds $(BENCH_ROUNDS) --scratch $(BENCH_SCRATCH) \
	  $(if $(wildcard $(BENCH_FEED)/gen.py),--feed "$(BENCH_FEED)") \
	  --output "Benchmarks/results/$$(date +%Y%m%d-%H%M%S).json"

.PHONY: bench-language
bench-language: packages-bench ## Measure schemas and documents (BENCH_SCHEMA, BENCH_ROUNDS): read, build, print, validate, growth
	@$(call prepare,.build-bench)
	cd Benchmarks && GQLRUN_MODULES=core $(SWIFT) build -c release $(RELEASE_FLAGS) --scratch-path ../.build-bench
	.build-bench/release/gqlrun-bench language --rounds $(BENCH_ROUNDS) \
	  $(if $(wildcard $(BENCH_SCHEMA)),--schema "$(BENCH_SCHEMA)")

.PHONY: bench-typed
bench-typed: build packages-bench ## Measure generated types: lines, compile time, decoding (APOLLO: a checkout of apollo-ios-dev to compare with)
	PYTHONDONTWRITEBYTECODE=1 Benchmarks/Typed/bench.py $(PROGRAM) .build-bench \
	  $(if $(APOLLO),--apollo "$(APOLLO)") \
	  $(if $(wildcard $(BENCH_SCHEMA)),--schema "$(BENCH_SCHEMA)")

.PHONY: bench-chain
bench-chain: build ## Measure what the chain adds to a bare async-http-client on the same requests
	cd Benchmarks && $(SWIFT) build -c release $(RELEASE_FLAGS) --product gqlrun-bench-chain --scratch-path ../.build-bench-chain
	@coproc server { exec $(PROGRAM) serve --port 0; }; \
	  trap "kill $$server_PID" EXIT; \
	  read -r url <&$${server[0]} || { echo "the server did not start" >&2; exit 1; }; \
	  .build-bench-chain/release/gqlrun-bench-chain "$$url" $(CHAIN_REQUESTS) $(CHAIN_ROUNDS)

.PHONY: check-profile
check-profile: packages-figures build ## Hold the figures of gqlrun profile against outside measurements
	Tests/Figures/profile.py $(PROGRAM) --posts 2500
	Tests/Figures/profile.py $(PROGRAM) --posts 25000 --rounds 5
	Tests/Figures/profile.py $(PROGRAM) --posts 250 --slow-disk
	$(if $(wildcard .build-bench/release/gqlrun-bench),Tests/Figures/profile.py $(PROGRAM) --posts 25000 \
	  --bench .build-bench/release/gqlrun-bench $(BENCH_SCRATCH))

.PHONY: symbols
symbols: ## List the public symbols of the libraries, as the tests have built them
	@Tests/Figures/symbols.py . .build-debug/debug

.PHONY: bench-all
bench-all: ## The same with responses of 1.1 GB
	@$(MAKE) bench BENCH_POSTS="$(BENCH_POSTS) 250000"

.PHONY: example
example: build ## Build the example of an own plugin as its package says, and run it against the built-in server
	cd Examples/OwnPlugin && $(SWIFT) build --scratch-path ../../.build-example
	@coproc server { exec $(PROGRAM) serve --port 0; }; \
	  trap "kill $$server_PID" EXIT; \
	  read -r GQL_URL <&$${server[0]} || { echo "the server did not start" >&2; exit 1; }; \
	  export GQL_URL; cd Examples/OwnPlugin; \
	  ../../.build-example/debug/my-gqlrun tenant.pipeline.yaml country.graphql acme

.PHONY: torture
torture: packages-torture build ## Kill, cut the power and damage databases; as root, or without power cuts
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/kill.py $(PROGRAM) $(KILLS)
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Torture/powercut.py $(PROGRAM) $(POWER_CUTS)
	GQLRUN_MODULES=core GQLRUN_DAMAGED=$(DAMAGED) $(SWIFT) test --scratch-path .build-core $(TEST_FLAGS) \
	  --filter DamagedDatabases

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf .build .build-docs .build-differential .build-fuzz .build-fuzz.log .build-link .build-release .build-debug .build-core .build-bench .build-bench-batch .build-bench-chain .build-bench-large .build-bench-peers \
	  .build-packages .build-pages .build-example .build-outside .build-cluster .build-thread .build-address .build-reliability Benchmarks/.build Examples/OwnPlugin/.build Examples/TypedApp/.build

.PHONY: packages packages-core packages-test packages-bench packages-bench-batch packages-torture
.PHONY: packages-scaling packages-figures packages-server packages-cluster packages-torture-cluster packages-bench-live packages-bench-peers
.PHONY: packages-deb packages-test-packages packages-pages
packages:
	@$(call install-packages,$(PACKAGES))
packages-core:
	@$(call install-packages,$(CORE_PACKAGES))
packages-test:
	@$(call install-packages,$(TEST_PACKAGES))
packages-deb:
	@$(call install-packages,$(DEB_PACKAGES))
packages-test-packages:
	@$(call install-packages,$(PACKAGES_TEST_PACKAGES))
packages-scaling:
	@$(call install-packages,$(SCALING_PACKAGES))
packages-figures:
	@$(call install-packages,$(FIGURES_PACKAGES))
packages-bench:
	@$(call install-packages,$(BENCH_PACKAGES))
packages-pages:
	@$(call install-packages,$(PAGES_PACKAGES))
packages-bench-batch:
	@$(call install-packages,$(BENCH_BATCH_PACKAGES))
packages-bench-peers:
	@$(call install-packages,$(BENCH_PEERS_PACKAGES))
packages-bench-live:
	@$(call install-packages,$(BENCH_LIVE_PACKAGES))
packages-torture:
	@$(call install-packages,$(TORTURE_PACKAGES))
packages-torture-cluster:
	@$(call install-packages,$(TORTURE_CLUSTER_PACKAGES))
packages-cluster:
	@$(call install-packages,$(CLUSTER_PACKAGES))
packages-server:
	@$(call install-packages,$(SERVER_PACKAGES))
