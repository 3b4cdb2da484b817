#!/usr/bin/env bash
# choir_over_nodes.sh MPI DIFFERENTIAL_TEST LIBRARY: random collectives through choir on 3 nodes of 2 ranks.
#
# The files lie on the lab's striped file system. Besides equal bytes it asks for traffic between the nodes: a run that
# never left one node would prove nothing. Exit 77 where no lab can be had.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: choir_over_nodes.sh mpich|openmpi DIFFERENTIAL_TEST LIBRARY" >&2; exit 2; }
mpi=$1 program=$2 library=$3
cases=${CHOIR_CLUSTER_CASES:-12} seed=${CHOIR_CLUSTER_SEED:-20261115}
every=two_phase,disk_first,core_first,hierarchical,dynamic_segmentation,static_segmentation
strategies=${CHOIR_CLUSTER_STRATEGIES:-$every}
lab() { "$(dirname "$0")/choir-lab" --name "nodes-$$" "$@"; }
trap 'lab down' EXIT

lab up --nodes 3 --rate 1gbit --ttl 170
lab servers up --count 3 --unit 64K --bandwidth 200M --seek 0
shared=$(lab servers path)
lab stats --reset
lab run --mpi "$mpi" -n 6 --ppn 2 --preload "$library" --timeout 150 -- \
  "$program" --cases "$cases" --seed "$seed" --dir "$shared" --strategies "$strategies"
lab stats
lab stats --json | python3 -c '
import json, sys
quiet = [n["node"] for n in json.load(sys.stdin)["nodes"] if n["tx_bytes"] < 100000]
sys.exit(f"no data left {quiet}: the ranks did not work across nodes" if quiet else 0)'
