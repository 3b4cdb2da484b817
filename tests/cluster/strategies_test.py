#!/usr/bin/env python3
"""strategies_test.py CASE --mpi M --bench PROGRAM: what strategies move between the nodes of a lab.

Counted twice: by the engine (CHOIR_TRACE, call by call) and by the nodes' interfaces, which know nothing of choir. Exit
77: no lab can be had here (ctest shows it as skipped).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from choirlab import traces  # noqa: E402

SKIP = 77
KIB, MIB = 1 << 10, 1 << 20
NODES, PPN = 3, 2
RANKS = NODES * PPN
PER_RANK = 1 * MIB
CYCLE = 256 * KIB
STEPS = 3  # one of them warms up
# What a job sends besides the strategy's data: connections, barriers and reductions of the bench, agreement.
NOISE = 600 * KIB
NAME = f"strategies-{os.getpid()}"


def lab(*words):
    command = [sys.executable, "-S", "-B", str(HERE / "choir-lab"), "--name", NAME, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
    if done.returncode == SKIP:
        print(f"SKIPPED: {done.stderr.strip()}")
        sys.exit(SKIP)
    if done.returncode != 0:
        raise AssertionError(f"choir-lab {words[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(fact, detail):
    if not fact:
        raise AssertionError(detail)


def write(options, strategy):
    """Writes 4-KiB pieces of all ranks in turn; returns the calls and the bytes that left each node's interface."""
    with tempfile.TemporaryDirectory(prefix="choir-strategies-") as folder:
        lab("stats", "--reset")
        lab("run", "--mpi", options.mpi, "-n", RANKS, "--ppn", PPN, "--timeout", 120, "--", "env", f"CHOIR_TRACE={folder}",
            "CHOIR_QUIET=1", f"CHOIR_CYCLE_BUFFER_BYTES={CYCLE}", "CHOIR_STRIPING_UNIT=65536", "CHOIR_STRIPING_FACTOR=3",
            options.bench, "vector", "--piece", "4K", "--bytes-per-rank", PER_RANK, "--contenders", strategy, "--repeat",
            STEPS - 1, "--warmup", 1, "--write", "--progress", "none", "--no-verify", "--dir",
            lab("servers", "path").strip())
        counted = traces.calls(folder, strategy, "write")
    expect(len(counted) == STEPS, f"{strategy}: {len(counted)} calls instead of {STEPS}")
    expect(all(call["bytes"] == RANKS * PER_RANK for call in counted), f"{strategy}: {counted}")
    return counted, sum(node["tx_bytes"] for node in json.loads(lab("stats", "--json"))["nodes"])


def agreed(call):
    """Opening and closing; a new pattern sends every rank's ballot besides. No more than 200 bytes per rank."""
    expected = NODES * (56 + 24) + (0 if call["plan_cached"] else 64 * RANKS)
    expect(call["agreement_bytes"] == expected, f"agreement took {call['agreement_bytes']} bytes, not {expected}")


def case_core_first_stays_inside_nodes(options):
    """Exchange by core_first moves no byte between nodes; two_phase with the same data does."""
    counted, sent = write(options, "core_first")
    for call in counted:
        expect(call["bytes_between"] == call["messages_between"] == call["metadata_between"] == 0, f"core_first: {call}")
        agreed(call)
    expect(sent < NOISE, f"core_first: {sent} bytes left the nodes' interfaces")
    counted, sent = write(options, "two_phase")
    between = sum(call["bytes_between"] for call in counted)
    expect(between > STEPS * RANKS * PER_RANK // 2, f"two_phase: only {between} bytes between nodes")
    expect(between <= sent < 1.15 * between + NOISE, f"two_phase: {between} bytes counted, {sent} at the interfaces")


def case_hierarchical_sends_once_per_node_and_window(options):
    """One message per pair of nodes and cycle: each window of an aggregator has one from every other node."""
    counted, sent = write(options, "hierarchical")
    for call in counted:
        windows = call["cycles"] - call["messages_between"]  # relays' cycles are their messages
        expect(windows >= RANKS * PER_RANK // CYCLE, f"hierarchical: {windows} windows")
        expect(call["messages_between"] == windows * (NODES - 1), f"hierarchical: {windows} windows, {call}")
        expect(call["metadata_between"] <= 64 * call["messages_between"], f"hierarchical: {call}")
        agreed(call)
    between = sum(call["bytes_between"] for call in counted)
    share = between / (STEPS * RANKS * PER_RANK)  # all but what a node has for its own aggregators
    expect(abs(share - (NODES - 1) / NODES) < 0.02, f"hierarchical: {between} bytes between nodes")
    expect(between <= sent < 1.15 * between + NOISE, f"hierarchical: {between} bytes counted, {sent} at the interfaces")


def main():
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=cases)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--bench", required=True)
    options = parser.parse_args()
    try:
        lab("up", "--nodes", NODES, "--rate", "1gbit", "--ttl", 170)
        lab("servers", "up", "--count", 3, "--unit", "64K", "--bandwidth", "200M", "--seek", 0)
        cases[options.case](options)
    except AssertionError as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        subprocess.run([sys.executable, "-S", "-B", str(HERE / "choir-lab"), "--name", NAME, "down"], check=False)
    print(f"OK: {options.case}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
