"""init.py: process 1 of a site or a node: it collects orphans until its time is over.

When process 1 ends, by itself or killed, the kernel ends every process of its namespace and frees the namespace,
its links and its mounts. That is the whole clean-up of the lab, so nothing survives a crash.

As a program (init.py NAME SECONDS READY_FD) it is a node: it names the host, gives it a /dev/shm of its own,
writes one byte to READY_FD and waits.
"""
import os
import signal
import subprocess
import sys
import time


def reap_until(deadline):
    """Wait for orphans; returns at the monotonic time `deadline`."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while (left := deadline - time.monotonic()) > 0:
        signal.sigtimedwait([signal.SIGCHLD], min(left, 60.0))
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass


def private_shared_memory():
    subprocess.run(["mount", "-t", "tmpfs", "choir-lab", "/dev/shm"], check=True)


def main():
    name, seconds, ready_fd = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    subprocess.run(["hostname", name], check=True)
    private_shared_memory()
    os.write(ready_fd, b"+")
    os.close(ready_fd)
    reap_until(time.monotonic() + seconds)


if __name__ == "__main__":
    main()
