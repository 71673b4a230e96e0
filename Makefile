# corelane: everything that is done often, in one word. `make` alone lists it.
#
# Each target needs Rust; demo and test install what else they use (tshark) where they may, and name
# what they leave out where they may not.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test nightly bench bench-peers bench-outside bench-seeds fmt lint docs

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

bench-peers: ## corelane beside DPDK's libraries, in one process; rows to target/bench-peers.jsonl
	@benches/peers.sh

bench-outside: ## whole programs between two namespaces: corelane, Open vSwitch, testpmd, a bridge, a bare copy loop
	cargo build --release --package corelane-cli
	@benches/outside/all.sh

bench-seeds: ## two published experiments, GRO and checksum offload, on our own ports
	cargo build --release --package corelane-cli
	@benches/seeds/gro.sh
	@benches/seeds/tx_checksum.sh

fmt: ## format all code
	cargo fmt --all

lint: ## format and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

docs: ## the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
