"""jobs.py: MPI jobs across the nodes.

Ranks of a node share memory and nothing else is shared between nodes, so both MPIs have only TCP over eth0 to cross.
mpiexec runs on the head and reaches nodes through nodesh, which stands where ssh would.
"""
import os
import re
import signal
import subprocess
import time

from choirlab import network, tools
from choirlab.errors import LabError, USAGE
from choirlab.lab import NODESH, needed

TIMED_OUT = 124  # as timeout(1)
INTERRUPTED = 130  # as a shell


def placement(lab, ranks, per_node):
    """Ranks per node: as given, or as even as blocks allow."""
    nodes = len(lab.node_names())
    if ranks < 1:
        raise LabError("-n must be at least 1", USAGE)
    per_node = per_node or -(-ranks // nodes)
    if per_node * nodes < ranks:
        raise LabError(f"{ranks} ranks do not fit on {nodes} nodes with {per_node} each", USAGE)
    return per_node


def hosts_by_rank(lab, ranks, per_node, hosts):
    """One node name per rank."""
    names = lab.node_names()
    if not hosts:
        return [names[rank // per_node] for rank in range(ranks)]
    unknown = sorted(set(hosts) - set(names))
    if unknown:
        raise LabError(f"no node '{unknown[0]}'; this lab has {' '.join(names)}", USAGE)
    if len(hosts) != ranks:
        raise LabError(f"{ranks} ranks need {ranks} host names, not {len(hosts)}", USAGE)
    return hosts


def write_hostfile(lab, lines):
    path = lab.state / f"hostfile.{os.getpid()}"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def mpich_command(hostfile, options, by_rank):
    shim = tools.compiled("mpich_shim.c", "mpicc.mpich", ["-shared", "-fPIC", "-ldl"])
    preload = ":".join(filter(None, [options.preload, shim]))
    command = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", NODESH, "-f", str(hostfile), "-n", str(options.n)]
    # Hydra's compact map of ranks to nodes only says blocks; without it MPICH asks each rank for its host.
    command += ["-genv", "PMI_SUBVERSION", "0"] if by_rank else ["-ppn", str(options.ppn)]
    command += ["-genv", "UCX_TLS", "tcp,self,posix,sysv,cma", "-genv", "UCX_NET_DEVICES", "eth0"]
    return command + ["-genv", "LD_PRELOAD", preload, "-genv", "CHOIR_LAB_IDLE", options.idle]


def openmpi_major():
    """4: ORTE starts the ranks, 5: PRRTE does."""
    told = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"\(Open MPI\) (\d+)", told)
    return int(version[1]) if version else 4


def openmpi_launcher():
    """How mpirun reaches the lab's nodes, over the lab's network: options of its own."""
    if openmpi_major() < 5:
        option, settings = "--mca", {
            "plm": "rsh", "plm_rsh_agent": NODESH, "plm_rsh_no_tree_spawn": "1",
            "oob_tcp_if_include": network.CONTROL_NETWORK, "orte_tmpdir_base": "/dev/shm"}
    else:
        option, settings = "--prtemca", {
            "plm": "ssh", "plm_ssh_agent": NODESH, "plm_ssh_no_tree_spawn": "1", "prte_tmpdir_base": "/dev/shm"}
    words = ["mpirun.openmpi", "--allow-run-as-root"]
    for key, value in settings.items():
        words += [option, key, value]
    for key, value in {"pml": "ob1", "btl": "tcp,vader,self", "btl_tcp_if_include": "eth0"}.items():
        words += ["--mca", key, value]
    return words


def openmpi_command(hostfile, options, by_rank):
    mapping = "seq" if by_rank else f"ppr:{options.ppn}:node"
    command = [*openmpi_launcher(), "--hostfile", str(hostfile), "--bind-to", "none",
               "--map-by", f"{mapping}:oversubscribe", "-np", str(options.n)]
    command += ["--mca", "mpi_yield_when_idle", "1" if options.idle == "yield" else "0"]
    return command + (["-x", f"LD_PRELOAD={options.preload}"] if options.preload else [])


def run(lab, options):
    """Runs the job in the foreground; returns its exit code, or 124 when its time is over."""
    needed("mpiexec.mpich" if options.mpi == "mpich" else "mpirun.openmpi")
    options.ppn = placement(lab, options.n, options.ppn) if not options.hosts else None
    hosts = hosts_by_rank(lab, options.n, options.ppn, options.hosts)
    used = hosts if options.hosts else list(dict.fromkeys(hosts))
    slots = " slots=64" if options.mpi == "openmpi" and not options.hosts else ""
    hostfile = write_hostfile(lab, [name + slots for name in used])
    make = mpich_command if options.mpi == "mpich" else openmpi_command
    command = make(hostfile, options, bool(options.hosts)) + options.program
    try:
        return supervise(lab, command, options.timeout)
    finally:
        hostfile.unlink(missing_ok=True)


def supervise(lab, command, seconds):
    """Waits for a job; an interrupted or late one is removed from the nodes, not only from the head."""
    mark = f"CHOIR_LAB_JOB={os.getpid()}.{time.time_ns()}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    job = subprocess.Popen(lab.enter(["env", mark, *command]))
    try:
        return job.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        remove(lab, job, mark)
        raise LabError(f"the job did not end within {seconds:g} s and was removed", TIMED_OUT) from None
    except KeyboardInterrupt:
        remove(lab, job, mark)
        raise LabError("interrupted; the job was removed", INTERRUPTED) from None


def remove(lab, job, mark):
    """The site sees the processes of all its nodes, and every process of the job has inherited the mark. A process may
    be forked while we look, so we look until there is none."""
    lab.head_output(f"""for round in $(seq 20); do
        found=
        for process in /proc/[0-9]*; do
            tr '\\0' '\\n' 2>/dev/null < $process/environ | grep -qx '{mark}' || continue
            found=yes
            kill -9 "${{process#/proc/}}" 2>/dev/null
        done
        [ "$found" ] || exit 0
        sleep 0.1
    done; echo "processes of the job do not end" >&2; exit 1""")
    job.wait()
