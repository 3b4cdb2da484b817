"""lab.py: finding, building, entering and removing a lab.

A lab is one process (site.py, process 1 of the site's pid namespace) and what lives below it; the process table is
the only truth about whether it exists. Its folder holds what other commands must know, and goes with it.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from choirlab import network
from choirlab.errors import FAILED, LabError, USAGE, cannot_here

HERE = pathlib.Path(__file__).resolve().parent
SITE = str(HERE / "site.py")
NODESH = str(HERE.parent / "nodesh")
NAMESPACES = ["--net", "--uts", "--ipc", "--pid", "--mount"]
START_SECONDS = 30
STOP_SECONDS = 20


def needed(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise cannot_here(f"not found: {', '.join(missing)} (make setup installs what the lab needs)")


def base_folder():
    """A folder of this user alone: labs of different users never meet."""
    base = pathlib.Path(os.environ.get("CHOIR_LAB_DIR") or f"{tempfile.gettempdir()}/choir-lab-{os.getuid()}")
    if base.exists() and base.stat().st_uid != os.getuid():
        raise LabError(f"{base} belongs to another user; set CHOIR_LAB_DIR to a folder of yours")
    return pathlib.Path(os.path.abspath(base))


class Lab:
    def __init__(self, name):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or name.startswith("."):
            raise LabError(f"'{name}' is not a lab name (letters, digits, '_', '-', '.')", USAGE)
        self.name = name
        self.base = base_folder()
        self.state = self.base / name
        self.shared = self.state / "shared"

    @contextlib.contextmanager
    def lock(self):
        """up, down, rate and servers happen one after the other. The lock is on the folder, so it leaves no file."""
        while True:
            self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = os.open(self.base, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
                if os.fstat(folder).st_nlink > 0:  # else the last lab was removed while we waited
                    try:
                        yield
                    finally:
                        with contextlib.suppress(OSError):  # not empty: there are labs
                            self.base.rmdir()
                    return
            finally:
                os.close(folder)

    # -- the site process ---------------------------------------------------------------------------------------

    def processes(self):
        """Pids of unshare and of site.py, seen from here, in that order."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if SITE.encode() in words and str(self.state).encode() in words:
                    found.append((words[0] != b"unshare", int(entry.name)))
        return [pid for _, pid in sorted(found)]

    def site_pid(self):
        """Pid of the running site, or an error that says what to do."""
        for pid in reversed(self.processes()):
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")).startswith("python") and self.info_file().exists():
                return pid
        raise LabError(f"no lab '{self.name}' is up; start one with: choir-lab up --nodes 4 --rate 1gbit")

    def info_file(self):
        return self.state / "site.json"

    def info(self):
        self.site_pid()
        return json.loads(self.info_file().read_text())

    def node_names(self):
        return [network.node_name(i) for i in range(len(self.info()["node_pids"]))]

    # -- up and down --------------------------------------------------------------------------------------------

    def up(self, nodes, rate, seconds):
        if not 1 <= nodes <= network.MAX_NODES:
            raise LabError(f"--nodes must be 1 to {network.MAX_NODES}", USAGE)
        if rate != "none":
            network.bits_per_second(rate)
        needed("ip", "tc", "unshare", "nsenter", "mount", "hostname")
        with self.lock():
            if self.processes():
                raise LabError(f"lab '{self.name}' is up already; remove it with: choir-lab down")
            self._remove_folder()
            probe_rights()
            self.state.mkdir()
            self.shared.mkdir()
            (self.state / "hosts").write_text(network.hosts_file(nodes))
            try:
                self._start(nodes, rate, seconds)
            except BaseException:
                self._remove()
                raise

    def _start(self, nodes, rate, seconds):
        command = ["unshare", *user_namespace(), *NAMESPACES, "--fork", "--kill-child", "--mount-proc",
                   "--propagation", "private", sys.executable, "-S", "-B", SITE,
                   str(self.state), str(nodes), rate, str(seconds)]
        log = self.state / "site.log"
        with open(log, "wb") as output:
            site = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while not self.info_file().exists():
            if site.poll() is not None:
                raise start_failure(log.read_text(errors="replace"))
            if time.monotonic() > deadline:
                raise LabError(f"the nodes were not ready after {START_SECONDS} s:\n{log.read_text()}")
            time.sleep(0.02)

    def down(self):
        with self.lock():
            self._remove()

    def _remove(self):
        """Kills the site; the kernel then ends all nodes, servers and jobs and frees links and mounts."""
        deadline = time.monotonic() + STOP_SECONDS
        while processes := self.processes():
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise LabError(f"processes {processes} of lab '{self.name}' do not end")
            time.sleep(0.02)
        self._remove_folder()

    def _remove_folder(self):
        if self.state.exists():
            shutil.rmtree(self.state)

    # -- inside -------------------------------------------------------------------------------------------------

    def enter(self, command, folder=None):
        """The command line that runs `command` on the head, in this folder (or `folder`)."""
        pid = self.site_pid()
        into = ["nsenter", "-t", str(pid), *NAMESPACES]
        if os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino:
            into += ["--user", "--preserve-credentials"]
        return [*into, "--", "env", f"CHOIR_LAB_STATE={self.state}",
                "sh", "-c", 'cd "$0" && exec "$@"', str(folder or os.getcwd()), *command]

    def enter_node(self, node, command):
        if node not in self.node_names():
            raise LabError(f"no node '{node}'; this lab has {' '.join(self.node_names())}", USAGE)
        return self.enter([NODESH, node, shlex.join(command)])

    def head_output(self, script):
        """Runs shell text on the head and returns its output; its failure is the user's to see."""
        done = subprocess.run(self.enter(["sh", "-c", script], "/"), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"in the lab: {done.stderr.strip() or done.stdout.strip()}", FAILED)
        return done.stdout

    def shape(self, rate):
        with self.lock():
            info = self.info()
            self.head_output(network.shape_script(info["node_pids"], rate))
            info["rate"] = rate
            self.info_file().write_text(json.dumps(info))

    # -- counters -----------------------------------------------------------------------------------------------

    def counters(self):
        """Per node, since the last reset (or `up`)."""
        now = network.parse_counters(self.head_output(network.counters_script(self.info()["node_pids"])))
        start = read_json(self.state / "counters.json", [{}] * len(now))
        return [{"node": network.node_name(i), **{key: node[key] - start[i].get(key, 0) for key in network.COUNTERS}}
                for i, node in enumerate(now)]

    def reset_counters(self):
        now = network.parse_counters(self.head_output(network.counters_script(self.info()["node_pids"])))
        (self.state / "counters.json").write_text(json.dumps(now))


def read_json(path, otherwise):
    return json.loads(path.read_text()) if path.exists() else otherwise


def user_namespace():
    """Users other than root get their rights from a user namespace of their own."""
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


def probe_rights():
    probe = ["unshare", *user_namespace(), *NAMESPACES, "--fork", "--mount-proc",
             "sh", "-c", "mount -t tmpfs none /dev/shm"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    how = "run it as root, or allow unprivileged user namespaces"
    if os.geteuid() == 0:
        how = "this root may not make namespaces; in a container, give it CAP_SYS_ADMIN"
    raise cannot_here(f"no rights for namespaces here ({done.stderr.strip()}): {how}")


def start_failure(log):
    missing = re.search(r"not supported|not permitted|Unknown device type|Permission denied|No such device", log)
    return cannot_here(f"this kernel does not let us build nodes:\n{log}") if missing else LabError(log)
