"""traffic.py: load on the data network, from one node to another.

Inside a node (as a program): `traffic.py receive` prints its port and swallows one connection; `traffic.py send ADDRESS PORT
SECONDS BITS_PER_SECOND` sends, paced (0: as fast as the link), and prints the bytes it sent and the time it took.
"""
import json
import pathlib
import socket
import subprocess
import sys
import time

CHUNK = 65536
RECEIVE_PATIENCE_S = 20


def receive():
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(RECEIVE_PATIENCE_S)
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(RECEIVE_PATIENCE_S)
            while connection.recv(1 << 20):
                pass


def send(address, port, seconds, bits_per_second):
    block = bytes(CHUNK)
    sent, start = 0, time.monotonic()
    with socket.create_connection((address, port), timeout=RECEIVE_PATIENCE_S) as connection:
        while (now := time.monotonic() - start) < seconds:
            ahead_s = sent * 8 / bits_per_second - now if bits_per_second else 0
            if ahead_s > 0:
                time.sleep(min(ahead_s, seconds - now))
                continue
            connection.sendall(block)
            sent += CHUNK
    print(json.dumps({"bytes": sent, "seconds": time.monotonic() - start}))


def inject(lab, source, target, seconds, bits_per_second):
    """From the host: sends between two nodes until done; returns {bytes, seconds}."""
    from choirlab import network
    from choirlab.errors import LabError, USAGE
    if source == target or seconds <= 0:
        raise LabError("traffic goes between two different nodes for a time above 0", USAGE)
    names = lab.node_names()
    if target not in names:
        raise LabError(f"no node '{target}'; this lab has {' '.join(names)}", USAGE)
    program = [sys.executable, "-S", "-B", str(pathlib.Path(__file__).resolve())]
    receiver = subprocess.Popen(lab.enter_node(target, [*program, "receive"]), stdout=subprocess.PIPE, text=True)
    try:
        port = receiver.stdout.readline().strip()
        if not port:
            raise LabError(f"no receiver on {target}")
        sender = [*program, "send", network.data_address(names.index(target)), port, str(seconds), str(bits_per_second)]
        done = subprocess.run(lab.enter_node(source, sender), stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"sending from {source} to {target} failed")
        receiver.wait(timeout=RECEIVE_PATIENCE_S)
        return json.loads(done.stdout)
    finally:
        # Killing nsenter would leave the receiver to its own time limit, so that is what ends it.
        receiver.stdout.close()


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive()
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
