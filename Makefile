# corelane: everything that is done often, in one word. `make` alone lists it.
#
# Each target needs Rust; demo and test install what else they use (tshark) where they may, and name
# what they leave out where they may not.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test nightly bench fmt lint docs

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the main job on recorded captures, and the proof that it was done right
	@.ci/demo.sh

test: ## every test; ends with what was skipped and why
	@.ci/test.sh

nightly: ## what takes long: more property cases, more simulator seeds, loom models
	@.ci/nightly.sh

bench: ## the benchmarks; benches/README.md says how to read them
	cargo build --release --package corelane-benches
	target/release/ring_hop
	target/release/chain
	target/release/classify
	target/release/decap
	benches/count.sh

fmt: ## format all code
	cargo fmt --all

lint: ## format and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

docs: ## the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
