#!/usr/bin/env bash
# placed_ranks.sh MPI CHOIR_PLACE CHOIR_BENCH: record, place, run again, with the launcher's own files.
#
# Four ranks on two nodes hold shuffled tiles; choir netbench measures the links. After placement every rank must be where
# the placement says, choir must see two nodes (Hydra takes each line of a machine file for one), the bytes must be right,
# and those sent between nodes must be those predicted. Exit 77 where no lab can be had.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: placed_ranks.sh mpich|openmpi CHOIR_PLACE CHOIR_BENCH" >&2; exit 2; }
mpi=$1 place=$2 bench=$3
[ -x "$place" ] || { echo "$place is not built" >&2; exit 77; }
[ "$(nproc)" -ge 2 ] || { echo "a rankfile with two cores per node needs two cores" >&2; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
lab() { "$here/choir-lab" --name "placed-$$" "$@"; }
dir=$(mktemp -d)
trap 'lab down; rm -rf "$dir"' EXIT
program=("$bench" tile --piece 1K --bytes-per-rank 256K --set width=32 --set permute=3 --write --contenders two_phase
  --warmup 0 --repeat 1 --progress none --dir "$dir")

lab up --nodes 2 --rate 1gbit --ttl 170
lab run --mpi "$mpi" -n 4 --ppn 2 --timeout 60 -- \
  env CHOIR_RECORD="$dir/program.rec" CHOIR_AGGREGATORS_PER_NODE=1 "${program[@]}" >/dev/null
lab run --mpi "$mpi" -n 4 --ppn 2 --timeout 60 -- \
  "$(dirname "$bench")/choir-netbench" --bytes 65536 --repeat 10 --output "$dir/arch.json" >/dev/null
printf 'n0 slots=2\nn1 slots=2\n' >"$dir/hosts"
"$place" "$dir/program.rec" --hostfile "$dir/hosts" --arch "$dir/arch.json" --algorithm setmatch \
  --aggregators-per-node 1 --format "$mpi" -o "$dir/placement" --json "$dir/report.json" --quiet

placed=(env CHOIR_TRACE="$dir/trace" CHOIR_AGGREGATORS_PER_NODE=1 "${program[@]}")
if [ "$mpi" = mpich ]; then
  # The lab makes MPICH ask each rank for its host; without that MPICH believes the machine file.
  lab run --mpi mpich -n 4 --machinefile "$dir/placement" --timeout 60 -- env -u PMI_SUBVERSION "${placed[@]}" >/dev/null
else
  mapfile -t mpirun < <(cd "$here" && python3 -B -c 'from choirlab import jobs; print(*jobs.openmpi_launcher(), sep="\n")')
  lab exec -- timeout 60 "${mpirun[@]}" --hostfile "$dir/hosts" --rankfile "$dir/placement" -np 4 \
    --mca mpi_yield_when_idle 1 "${placed[@]}" >/dev/null
fi

python3 - "$dir" <<'P'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
report = json.loads((folder / "report.json").read_text())
chosen = next(row for row in report["placements"] if row["name"] == report["chosen"])
wanted = [report["nodes"][node]["name"] for node in chosen["node_of_rank"]]
if wanted == sorted(wanted):
    sys.exit(f"ranks {wanted} are in node order: that proves nothing")
between = 0
for rank, host in enumerate(wanted):
    records = [json.loads(line) for line in (folder / "trace" / f"rank-{rank}.jsonl").read_text().splitlines()]
    if records[0]["host"] != host:
        sys.exit(f"rank {rank} ran on {records[0]['host']}, not on {host}")
    opened = [record for record in records if record["type"] == "open"]
    if not opened or any(record["nodes"] != 2 for record in opened):
        sys.exit(f"rank {rank} sees {[record['nodes'] for record in opened]} nodes, not 2")
    between += sum(record["bytes_between"] for record in records if record["type"] == "call")
predicted = chosen["strategies"]["two_phase"]["between_nodes_bytes"]
if between != predicted:
    sys.exit(f"{between} bytes between nodes, {predicted} predicted")
print(f"ranks on {' '.join(wanted)}; {between} bytes between nodes, as predicted")
P
