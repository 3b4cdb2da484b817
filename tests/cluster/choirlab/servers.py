"""servers.py: the shared file system of the lab: stripefs over K data servers, kept in memory, seen by all nodes.

It lives in the site's mount namespace (nodes receive the mount), so it goes with the lab and the host never sees it.
"""
import json
import os
import re
import shlex
import subprocess
import time

from choirlab import tools
from choirlab.errors import LabError, USAGE, cannot_here
from choirlab.lab import needed, read_json

MAX_SERVERS = 64
COUNTERS = ("requests", "seeks", "bytes_read", "bytes_written", "busy_s")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def byte_count(text):
    """'64K' -> 65536 (powers of two)."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise LabError(f"'{text}' is not a number of bytes (examples: 65536, 64K, 1M)", USAGE)
    return int(match[1]) * _UNITS[match[2]]


def checked(options):
    """The settings of stripefs as numbers."""
    values = {"count": options.count, "unit": byte_count(options.unit), "bandwidth": byte_count(options.bandwidth),
              "seek_ms": options.seek, "window": byte_count(options.window), "capacity": byte_count(options.capacity)}
    if not 1 <= values["count"] <= MAX_SERVERS:
        raise LabError(f"--count must be 1 to {MAX_SERVERS}", USAGE)
    if values["unit"] < 1 or values["bandwidth"] < 1 or values["seek_ms"] < 0 or values["capacity"] < 1:
        raise LabError("--unit, --bandwidth and --capacity must be above 0, --seek not below", USAGE)
    return values


def is_up(lab):
    return subprocess.run(lab.enter(["mountpoint", "-q", str(lab.shared)], "/"), check=False).returncode == 0


def up(lab, options):
    settings = checked(options)
    needed("pkg-config", "cc", "mountpoint")
    with lab.lock():
        lab.site_pid()
        check_fuse()
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=False)
        if flags.returncode != 0:
            raise cannot_here("libfuse3-dev is not installed (make setup installs it)")
        program = tools.compiled("stripefs.c", "cc", [*shlex.split(flags.stdout), "-pthread"])
        if is_up(lab):
            raise LabError("the servers are up already; stop them with: choir-lab servers down")
        start(lab, program, settings)
    return (f"{settings['count']} servers, stripes of {settings['unit']} bytes, {settings['bandwidth']} bytes/s, "
            f"seek {settings['seek_ms']:g} ms, at {lab.shared}")


def check_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise cannot_here("no access to /dev/fuse: the shared file system needs FUSE")


def start(lab, program, settings):
    back, log = lab.state / "back", lab.state / "stripefs.log"
    back.mkdir(exist_ok=True)
    lab.head_output(f"mount -t tmpfs -o size={settings['capacity']} choir-lab {shlex.quote(str(back))}")
    command = [program, "--back", str(back), "--servers", str(settings["count"]), "--unit", str(settings["unit"]),
               "--bandwidth", str(settings["bandwidth"]), "--seek-ms", str(settings["seek_ms"]),
               "--window", str(settings["window"]), str(lab.shared)]
    with open(log, "wb") as output:
        daemon = subprocess.Popen(lab.enter(command, "/"), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  start_new_session=True)
    deadline = time.monotonic() + 10
    while not is_up(lab):
        if daemon.poll() is not None or time.monotonic() > deadline:
            lab.head_output(f"umount {shlex.quote(str(back))}")
            raise cannot_here(f"the file system did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.05)
    (lab.state / "servers.json").unlink(missing_ok=True)


def down(lab):
    with lab.lock():
        if not is_up(lab):
            return
        shared, back = shlex.quote(str(lab.shared)), shlex.quote(str(lab.state / "back"))
        lab.head_output(f"umount {shared}")
        # stripefs ends by itself after the unmount, and holds the backing files until then.
        lab.head_output(f"for i in $(seq 100); do umount {back} 2>/dev/null && exit; sleep 0.05; done; exec umount {back}")


def raw(lab):
    if not is_up(lab):
        raise LabError("no servers are up; start them with: choir-lab servers up")
    return json.loads(lab.head_output(f"cat {shlex.quote(str(lab.shared))}/.stats"))


def stats(lab):
    """Per server, since the last reset (or `servers up`)."""
    now = raw(lab)
    start_values = read_json(lab.state / "servers.json", [{}] * len(now))
    return [{"server": i, **{key: server[key] - start_values[i].get(key, 0) for key in COUNTERS}}
            for i, server in enumerate(now)]


def reset(lab):
    (lab.state / "servers.json").write_text(json.dumps(raw(lab)))
