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
# The sizes of the benchmark, in posts: 2500 are 11 MB of JSON, 25000 are 112 MB.
BENCH_POSTS ?= 2500 25000
# The folder with the generator and the document of the benchmark.
BENCH_FEED ?= ../shared/bench

# Under continuous integration a warning in our own code is an error. SwiftPM keeps the flag away
# from dependencies, so they are not built again.
TEST_FLAGS := $(if $(CI),-Xswiftc -warnings-as-errors)

# The rooms without networking need yajl and SQLite; the HTTP library links zlib.
CORE_PACKAGES := libyajl-dev libsqlite3-dev pkg-config
PACKAGES := $(CORE_PACKAGES) zlib1g-dev
BENCH_PACKAGES := $(CORE_PACKAGES) yajl-tools python3
SERVER_PACKAGES := python3 python3-venv curl

SOURCES := Sources Tests Benchmarks/Sources Package.swift Benchmarks/Package.swift
PROGRAM := .build-release/release/gqlrun
PIPELINES = $(wildcard pipelines/*.pipeline.yaml)

# $(call install-packages,NAMES): installs the packages that are missing.
#
# A package counts as there when dpkg says so, or when what it brings is found. The package lists are
# fetched only when the packages cannot be found without.
define install-packages
found() { \
  [ "$$(dpkg-query -W -f '$${Status}' "$$1" 2>/dev/null)" != 'install ok installed' ] || return 0; \
  case "$$1" in \
    libyajl-dev) pkg-config --exists yajl 2>/dev/null ;; \
    libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null ;; \
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;; \
    yajl-tools) command -v json_verify >/dev/null ;; \
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;; \
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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## Build, and watch the main job run against the built-in server
	@$(PROGRAM) demo

.PHONY: build
build: packages ## Build the program into .build-release
	@$(call prepare,.build-release)
	$(SWIFT) build -c release --product gqlrun --scratch-path .build-release

.PHONY: install
install: build ## Install the program below PREFIX (/usr/local)
	install -D -m 755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/bin/gqlrun"
	$(if $(PIPELINES),install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/gqlrun/pipelines" $(PIPELINES))

.PHONY: test
test: packages ## Run all tests
	@$(call prepare,.build-debug)
	$(SWIFT) test --scratch-path .build-debug $(TEST_FLAGS)

.PHONY: test-core
test-core: packages-core ## Run the tests of the rooms without networking, in seconds
	@$(call prepare,.build-core)
	GQLRUN_ROOMS=core $(SWIFT) test --scratch-path .build-core $(TEST_FLAGS)

.PHONY: lint
lint: ## Check the format of the sources
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)

.PHONY: format
format: ## Format the sources
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

.PHONY: torture-batch
torture-batch: build packages-server ## Kill a batch run 100 times at random moments and look for lost or doubled results
	Tests/Torture/batch-kill.py $(PROGRAM) 100

.PHONY: bench
bench: bench-feed packages-bench ## Compare the cache engine with yajl's bare parse (BENCH_POSTS="2500 25000")
	@$(call prepare,.build-bench)
	cd Benchmarks && GQLRUN_ROOMS=core $(SWIFT) build -c release --scratch-path ../.build-bench
	@for posts in $(BENCH_POSTS); do \
	  file=.build-bench/feed_$$posts.json; \
	  if [ ! -s $$file ]; then \
	    echo "generating $$file"; \
	    PYTHONDONTWRITEBYTECODE=1 python3 "$(BENCH_FEED)/gen.py" $$posts $$file.part; \
	    mv $$file.part $$file; \
	  fi; \
	  .build-bench/release/gqlrun-bench $$file "$(BENCH_FEED)/feed.graphql"; \
	done

.PHONY: bench-feed
bench-feed:
	@[ -f "$(BENCH_FEED)/gen.py" ] || { \
	  echo "make bench measures responses made by gen.py, and there is none in $(BENCH_FEED): name" \
	    "its folder with BENCH_FEED=…" >&2; \
	  exit 1; \
	}

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf .build .build-release .build-debug .build-core .build-bench Benchmarks/.build

.PHONY: packages packages-core packages-bench packages-server
packages:
	@$(call install-packages,$(PACKAGES))
packages-core:
	@$(call install-packages,$(CORE_PACKAGES))
packages-bench:
	@$(call install-packages,$(BENCH_PACKAGES))
packages-server:
	@$(call install-packages,$(SERVER_PACKAGES))
