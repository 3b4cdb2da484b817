"""network.py: addresses, links and counters of the lab, as text.

Every node has two links. `eth0` (10.77.0.0/24) is the data network: shaped, and all that `stats` counts. `ctl0`
(10.78.0.0/24) leads to the head, where mpiexec runs: job start and standard output neither cost bandwidth nor
appear in the counters. A node's name is its data address, so programs that look up a host meet the shaped link.
"""
import re

from choirlab.errors import LabError, USAGE

HEAD = "labhead"
HEAD_ADDRESS = "10.78.0.254"
CONTROL_NETWORK = "10.78.0.0/24"
MAX_NODES = 200
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


def node_name(index):
    return f"n{index}"


def data_address(index):
    return f"10.77.0.{index + 1}"


def hosts_file(nodes):
    lines = ["127.0.0.1 localhost", f"{HEAD_ADDRESS} {HEAD}"]
    lines += [f"{data_address(i)} {node_name(i)}" for i in range(nodes)]
    return "\n".join(lines) + "\n"


def bits_per_second(rate):
    """'100mbit' -> 1e8; raises on anything tc would not understand the same way."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)bit", rate)
    if not match or float(match[1]) <= 0:
        raise LabError(f"'{rate}' is not a rate (examples: 100mbit, 1gbit, none)", USAGE)
    return float(match[1]) * _UNITS[match[2]]


def build_script(pids):
    """Shell text, run in the site: two switches, and two links for each node; pids[i] is node i's process 1."""
    lines = ["set -e", "ip link set lo up"]
    for switch in ("data", "control"):
        lines += [f"ip link add {switch} type bridge", f"echo 1 > /proc/sys/net/ipv6/conf/{switch}/disable_ipv6 || :",
                  f"ip link set {switch} up"]
    lines += [f"ip addr add {HEAD_ADDRESS}/24 dev control"]
    for index, pid in enumerate(pids):
        inside = f"nsenter -t {pid} --net"
        # Without IPv6 an idle link stays silent, so counters show the program and nothing else.
        lines += [f"{inside} sh -c 'for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done' || :"]
        for device, port, switch, net in (("eth0", f"d{index}", "data", 77), ("ctl0", f"c{index}", "control", 78)):
            lines += [f"ip link add {port} type veth peer name {device} netns {pid}",
                      f"echo 1 > /proc/sys/net/ipv6/conf/{port}/disable_ipv6 || :",
                      f"ip link set {port} master {switch} up",
                      f"{inside} ip addr add 10.{net}.0.{index + 1}/24 dev {device}",
                      f"{inside} ip link set {device} up"]
        lines += [f"{inside} ip link set lo up"]
    return "\n".join(lines) + "\n"


def shape_script(pids, rate):
    """Shell text, run in the site: limits what each node sends (eth0) and what it receives (its switch port)."""
    lines = ["set -e"]
    for index, pid in enumerate(pids):
        for inside, device in ((f"nsenter -t {pid} --net ", "eth0"), ("", f"d{index}")):
            if rate == "none":
                lines += [f"{inside}tc qdisc del dev {device} root 2>/dev/null || :"]
                continue
            # About 2 ms of data, and never less than one 64-KiB segmentation offload packet.
            burst = int(min(262144, max(81920, bits_per_second(rate) / 8 * 0.002)))
            lines += [f"{inside}tc qdisc replace dev {device} root tbf rate {rate} burst {burst} limit 4194304"]
    return "\n".join(lines) + "\n"


COUNTERS = ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "tcp_segments_out", "tcp_segments_in",
            "tcp_retransmits")


def counters_script(pids):
    return "\n".join(f"echo @; cat /proc/{pid}/net/dev /proc/{pid}/net/snmp" for pid in pids)


def parse_counters(text):
    """The output of counters_script as one dictionary of COUNTERS per node."""
    return [_parse_node(part) for part in text.split("@\n")[1:]]


def _parse_node(text):
    device = re.search(r"^\s*eth0:(.*)$", text, re.M)
    tcp = re.findall(r"^Tcp:(.*)$", text, re.M)
    if not device or len(tcp) != 2:
        raise LabError("cannot read a node's interface counters")
    numbers = [int(word) for word in device[1].split()]
    segments = dict(zip(tcp[0].split(), map(int, tcp[1].split())))
    return dict(zip(COUNTERS, (numbers[8], numbers[0], numbers[9], numbers[1],
                               segments["OutSegs"], segments["InSegs"], segments["RetransSegs"])))
