#!/usr/bin/env python3
"""lab_test.py CASE [--mpi M --probe PROGRAM]: facts about the lab that every cluster result rests on.

Each case builds a lab of its own name and removes it. Exit 77: no lab can be had here (ctest shows it as skipped).
"""
import argparse
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
LAB = str(HERE / "choir-lab")
SKIP = 77
MIB = 1 << 20
NAME = f"test-{os.getpid()}"
COMMAND = [sys.executable, "-S", "-B", LAB, "--name", NAME]


def lab(*words, ok=True):
    """Runs choir-lab; returns its output. A lab that cannot be had ends the test as skipped."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == SKIP:
        print(f"SKIPPED: {done.stderr.strip()}")
        sys.exit(SKIP)
    if ok and done.returncode != 0:
        raise AssertionError(f"choir-lab {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if ok else done


def expect(fact, detail):
    if not fact:
        raise AssertionError(detail)


def counters():
    return {node["node"]: node for node in json.loads(lab("stats", "--json"))["nodes"]}


# -- up and down ----------------------------------------------------------------------------------------------------


KINDS = "net mnt pid uts ipc"


def namespaces():
    """Every namespace that some process is in."""
    seen = set()
    for kind in KINDS.split():
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                seen.add(os.readlink(process / "ns" / kind))
            except OSError:
                pass
    return seen


def own_namespaces():
    return {os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS.split()}


def namespaces_of_lab():
    """Those of the processes that the site sees: all of them are the lab's."""
    links = lab("exec", "--", "sh", "-c", f"for kind in {KINDS}; do readlink /proc/[0-9]*/ns/$kind; done; :").split()
    expect(len(set(links)) >= 10, f"a site and a node have namespaces of their own: {sorted(set(links))}")
    return set(links)


def mark_of_this_lab():
    """Processes, folders and mounts that carry the lab's name."""
    traces = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if NAME.encode() in words and int(process.name) != os.getpid():
            traces.append(words.replace(b"\0", b" ").decode(errors="replace"))
    base = pathlib.Path(os.environ.get("CHOIR_LAB_DIR") or f"/tmp/choir-lab-{os.getuid()}")
    traces += [str(path) for path in base.glob(f"{NAME}*")]
    traces += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if NAME in line]
    return traces


def nothing_is_left(of_lab, after_what):
    expect(not mark_of_this_lab(), f"left {after_what}: {mark_of_this_lab()}")
    deadline = time.monotonic() + 5  # the kernel frees them a moment after the last process
    while (left := namespaces() & of_lab) and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(not left, f"namespaces left {after_what}: {left}")


def case_up_down(_):
    lab("up", "--nodes", "3", "--rate", "100mbit", "--ttl", "60")
    of_lab = namespaces_of_lab()
    expect(not of_lab & own_namespaces(), "the lab must not share a namespace with the host")
    expect(lab("up", "--nodes", "2", ok=False).returncode == 1, "a second lab of the same name must be refused")
    names = [lab("exec", "--node", f"n{i}", "--", "hostname").strip() for i in range(3)]
    expect(names == ["n0", "n1", "n2"], f"host names {names}")
    expect(lab("exec", "--node", "n7", "--", "true", ok=False).returncode == 2, "an unknown node must be refused")
    expect(all(node["tx_bytes"] == 0 for node in counters().values()), "idle links must be silent")
    lab("down")
    nothing_is_left(of_lab, "after down")
    lab("down")  # removing nothing is fine


def case_crash(_):
    """Process 1 killed, a job running: down still finds nothing to complain about, and nothing is left."""
    lab("up", "--nodes", "2", "--ttl", "60")
    of_lab = namespaces_of_lab()
    job = subprocess.Popen([*COMMAND, "exec", "--node", "n1", "--", "sleep", "1000"],
                           stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while "sleep 1000" not in lab("exec", "--", "ps", "ax") and time.monotonic() < deadline:
        time.sleep(0.05)
    site = [int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if is_site(p)]
    expect(len(site) == 1, f"site processes {site}")
    os.kill(site[0], signal.SIGKILL)
    expect(job.wait(timeout=10) != 0, "the job must end with its node")
    lab("down")
    nothing_is_left(of_lab, "after a crash")
    lab("up", "--nodes", "1", "--ttl", "1.5")
    deadline = time.monotonic() + 10
    while lab("stats", ok=False).returncode == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(lab("stats", ok=False).returncode == 1, "a lab must end when its time is over")
    lab("down")
    nothing_is_left(of_lab, "after its time")


def is_site(process):
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0] != b"unshare" and any(w.endswith(b"/site.py") for w in words) and any(
        w.endswith(NAME.encode()) for w in words)


# -- MPI ------------------------------------------------------------------------------------------------------------


def run_probe(options, *words):
    return lab("run", "--mpi", options.mpi, "-n", "4", "--timeout", "40", "--", options.probe, *words)


def case_mpi(options):
    """Ranks of a node share memory; ranks of different nodes talk TCP over the shaped link."""
    payload, slow = 8 * MIB, 400e6
    lab("up", "--nodes", "2", "--rate", "400mbit", "--ttl", "120")
    groups = [line.split() for line in run_probe(options, "groups").splitlines()]
    expect(groups == [["0", "n0", "0"], ["1", "n0", "0"], ["2", "n1", "2"], ["3", "n1", "2"]], f"groups {groups}")

    lab("stats", "--reset")
    run_probe(options, "inside", str(payload))
    noise = max(node["tx_bytes"] for node in counters().values())
    expect(noise < payload // 16, f"{noise} bytes left a node although ranks only spoke inside nodes")

    lab("stats", "--reset")
    start = time.monotonic()
    run_probe(options, "between", str(payload))
    elapsed = time.monotonic() - start
    sent = counters()["n0"]["tx_bytes"]
    received = counters()["n1"]["rx_bytes"]
    expect(payload <= sent < 1.2 * payload and payload <= received < 1.2 * payload,
           f"{payload} bytes sent between nodes, but eth0 counted {sent} out and {received} in")
    expect(elapsed >= (payload - MIB) * 8 / slow, f"{payload} bytes in {elapsed:.3f} s: the link is not shaped")
    expect(counters()["n0"]["tcp_segments_out"] > payload // 2000, "TCP segments must be counted")
    late = lab("run", "--mpi", options.mpi, "-n", "2", "--timeout", "1.5", "--", "sleep", "1000", ok=False)
    expect(late.returncode == 124, f"a late job must end with 124, not {late.returncode}")
    expect("sleep 1000" not in lab("exec", "--", "ps", "ax"), "a late job must be removed")


def case_placement(options):
    """--machinefile puts each rank where its line says."""
    hosts = ["n1", "n0", "n0", "n1"]
    machines = pathlib.Path(f"{options.probe}.machines.{os.getpid()}")
    lab("up", "--nodes", "2", "--ttl", "60")
    try:
        machines.write_text("\n".join(hosts) + "\n")
        text = lab("run", "--mpi", options.mpi, "-n", "4", "--machinefile", str(machines), "--timeout", "40", "--",
                   options.probe, "groups")
    finally:
        machines.unlink()
    rows = [line.split() for line in text.splitlines()]
    expect([row[1] for row in rows] == hosts, f"hosts by rank {rows}")
    expect([row[2] for row in rows] == ["0", "1", "1", "0"], f"shared memory by rank {rows}")


# -- servers and traffic --------------------------------------------------------------------------------------------


def shared(node, script):
    """Runs shell text on a node, in the shared file system."""
    return lab("exec", "--node", node, "--", "sh", "-c", f"cd {shared_folder()} && {script}")


@functools.lru_cache
def shared_folder():
    return lab("servers", "path").strip()


def case_servers(_):
    """Striping, contents, counters, layout and time of the shared file system."""
    unit, count = 65536, 3
    lab("up", "--nodes", "2", "--ttl", "60")
    lab("servers", "up", "--count", str(count), "--unit", "64K", "--bandwidth", "20M", "--seek", "10")
    layout = shared("n0", "touch f && getfattr --only-values -n ceph.file.layout f").strip()
    expect(layout == f"stripe_unit={unit} stripe_count={count} object_size={unit} pool=stripefs", layout)

    lab("servers", "stats", "--reset")
    start = time.monotonic()
    shared("n0", "dd if=/dev/urandom of=f bs=1M count=6 status=none && md5sum f > sum")
    elapsed = time.monotonic() - start
    expect("f: OK" in shared("n1", "md5sum -c sum"), "the other node must read the same bytes")
    stats = json.loads(lab("servers", "stats", "--json"))["servers"]
    written = [server["bytes_written"] for server in stats]
    expect(all(w >= 2 * MIB for w in written) and sum(written) < 6 * MIB + 1000, f"bytes by server {written}")
    expect(elapsed >= 6 * MIB / count / (20 * MIB), f"6 MiB written and read in {elapsed:.3f} s: no disk model")

    lab("servers", "stats", "--reset")
    shared("n1", f"dd if=f of=/dev/null bs={unit} count=3 skip=3 status=none; "
                 f"dd if=f of=/dev/null bs={unit} count=1 skip=30 status=none")
    stats = json.loads(lab("servers", "stats", "--json"))["servers"]
    expect([s["bytes_read"] for s in stats] == [2 * unit, unit, unit], f"stripe 3..5 and 30: {stats}")
    expect(stats[0]["requests"] == 2 and stats[0]["seeks"] == 2, f"server 0: {stats[0]}")

    facts = shared("n0", "truncate -s 100000 f && stat -c %s f && mkdir d && mv f d/g && ls d && rm d/g && rmdir d")
    expect(facts.split() == ["100000", "g"], f"names and sizes: {facts}")
    lab("servers", "down")
    expect(lab("servers", "stats", ok=False).returncode == 1, "stopped servers have no counters")


def case_traffic(_):
    lab("up", "--nodes", "3", "--rate", "100mbit", "--ttl", "60")
    lab("traffic", "--from", "n0", "--to", "n2", "--seconds", "1", "--rate", "40mbit")
    paced = counters()
    expect(2e6 < paced["n0"]["tx_bytes"] < 6e6, f"40 Mbit/s for 1 s: {paced['n0']}")
    expect(paced["n1"]["rx_bytes"] < 10000, "the third node must not see it")
    lab("stats", "--reset")
    lab("rate", "50mbit")
    lab("traffic", "--from", "n0", "--to", "n2", "--seconds", "1")
    full = counters()["n2"]["rx_bytes"]
    expect(full < 1.4 * 50e6 / 8 + 4.5e6, f"{full} bytes in 1 s through a 50-Mbit link")


def main():
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=cases)
    parser.add_argument("--mpi", default="mpich")
    parser.add_argument("--probe")
    options = parser.parse_args()
    try:
        cases[options.case](options)
    except AssertionError as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        subprocess.run([*COMMAND, "down"], check=False)
    print(f"OK: {options.case}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
