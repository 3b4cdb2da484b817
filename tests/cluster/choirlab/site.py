"""site.py STATE_DIR NODES RATE SECONDS: process 1 of a lab.

It is started by `choir-lab up` in new network, mount, pid, ipc and uts namespaces; builds the nodes inside them, writes
STATE_DIR/site.json when all is ready, and ends after SECONDS at the latest. Everything of the lab lives below it.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from choirlab import init, network  # noqa: E402  (the path must be set first)

INIT = str(pathlib.Path(__file__).resolve().parent / "init.py")


def prepare_mounts(state):
    """Own /dev/shm and /etc/hosts. Mounts made later here (the shared file system) also appear in the nodes."""
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    init.private_shared_memory()
    subprocess.run(["mount", "--bind", str(state / "hosts"), "/etc/hosts"], check=True)


def start_node(name, seconds):
    """Starts a node and returns the pid of its process 1, once it is ready."""
    ready, done = os.pipe()
    os.set_inheritable(done, True)
    outer = subprocess.Popen(
        ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
         "--propagation", "slave", sys.executable, "-S", "-B", INIT, name, str(seconds), str(done)], close_fds=False)
    os.close(done)
    if os.read(ready, 1) != b"+":
        raise RuntimeError(f"node {name} did not start")
    os.close(ready)
    children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
    return int(children[0])


def build(state, count, rate, seconds):
    prepare_mounts(state)
    subprocess.run(["hostname", network.HEAD], check=True)
    pids = [start_node(network.node_name(i), seconds) for i in range(count)]
    (state / "nodes").mkdir()
    for index, pid in enumerate(pids):
        (state / "nodes" / network.node_name(index)).write_text(f"{pid}\n")
    script = network.build_script(pids) + network.shape_script(pids, rate)
    subprocess.run(["sh", "-c", script], check=True)
    return pids


def publish(state, pids, rate, seconds):
    ready = state / "site.json.new"
    ready.write_text(json.dumps({"node_pids": pids, "rate": rate, "ends_unix_s": time.time() + seconds}))
    ready.rename(state / "site.json")


def main():
    state, count, rate, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    deadline = time.monotonic() + seconds
    try:
        publish(state, build(state, count, rate, seconds), rate, seconds)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"choir-lab: building the nodes failed: {error}")
    init.reap_until(deadline)


if __name__ == "__main__":
    main()
