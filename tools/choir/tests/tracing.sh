#!/usr/bin/env bash
# tracing.sh CHOIR MPI MPICC: what a program did is what its trace says, and a trace that cannot be had is told of.
. "$(dirname "$0")/common.sh"
mpi=$2 mpicc=$3
launch=$root/scripts/mpi-launch
"$mpicc" -O1 -o traced "$here/traced.c"
run() { "$launch" "$mpi" 2 "$choir" run "$@" > out 2> errors; }

# Three writes, three reads and a write of each rank for itself: 14 blocks. Openings of one name are kept apart.
for strategy in individual two_phase mapped dynamic_segmentation; do
  run --strategy $strategy --trace $strategy ./traced $strategy.data || fail "$strategy: $(cat out errors)"
  says '8 calls, 1.3 MiB' explain $strategy
  says '3 patterns' explain $strategy
  if grep -q 'incomplete\|not complete' out; then fail "a whole trace is said to be incomplete: $(cat out)"; fi
  moved=$(sed -n 's/.*"storage_bytes":\([0-9]*\).*/\1/p' $strategy/rank-*.jsonl | awk '{ sum += $1 } END { print sum }')
  [ "$moved" = 1400000 ] || fail "$strategy: storage_bytes are $moved"
done

# No trace: one warning, and the program runs.
touch file
for folder in file /proc/nothing; do
  run --trace $folder ./traced data || fail "with a trace in $folder: $(cat out errors)"
  [ "$(grep -c "trace: cannot create .*$folder" errors)" = 1 ] || fail "a trace in $folder: $(cat errors)"
done

# A program that ends before its time leaves a header.
run --trace killed ./traced data die && fail 'it was to fail'
"$choir" explain killed > out 2>&1 && fail "there is nothing to explain: $(cat out)"
grep -q '2 of 2 processes did not end properly' out || fail "explain says: $(cat out)"
echo 'traced'
