#!/usr/bin/env bash
# running.sh CHOIR MPI MPICC PLUGIN [PYTHON-MPI]: a plain MPI program runs under choir, whichever way it is started.
. "$(dirname "$0")/common.sh"
mpi=$2 mpicc=$3 plugin=$4
launch=$root/scripts/mpi-launch
"$mpicc" -O1 -o mini "$here/mini.c"

under() {  # under COMMAND...: two ranks; output in `out`, errors in `errors`
  "$launch" "$mpi" 2 "$@" > out 2> errors || fail "$* exits with $?: $(cat out errors)"
  grep -q '2 ranks, right' out || fail "$* says: $(cat out errors)"
}
active() { grep -q "^choir: .*(2 ranks" errors || fail "choir was not active: $(cat errors)"; }

under ./mini native.data
under "$choir" run --stats ./mini first.data
active
cmp native.data first.data || fail 'the bytes differ'

# Options reach the program's settings, its own arguments stay its own.
under "$choir" run -v --stats --strategy two_phase --trace traces -- ./mini second.data
active
grep -q 'two_phase (' errors || fail "two_phase did not serve: $(cat errors)"
grep -q "uses $mpi" errors || fail "-v says nothing: $(cat errors)"
[ -s traces/rank-0.jsonl ] && [ -s traces/rank-1.jsonl ] || fail 'no traces'
for rank in 0 1; do
  grep -q '"call":0,' traces/rank-$rank.jsonl || fail "calls in the trace are not numbered from 0"
done
cmp native.data second.data || fail 'the bytes differ with two_phase'
echo 'strategy = "individual"' > settings.toml
under "$choir" run --stats --config settings.toml ./mini third.data
grep -q 'individual (' errors || fail "the configuration was not used: $(cat errors)"

# A wrong setting is told of once, and the program runs.
CHOIR_STRATEGY=nonsense under "$choir" run ./mini wrong.data
[ "$(grep -c 'no such strategy' errors)" = 1 ] || fail "a strategy that does not exist: $(cat errors)"

# Everything left to the MPI library: still a table, if asked for, and no choir at all if not.
CHOIR_STRATEGY=native under "$choir" run --stats ./mini host.data
active
grep -q 'native (fixed: set)' errors || fail "native shows no table: $(cat errors)"
cmp native.data host.data || fail 'the bytes differ with native'
CHOIR_STRATEGY=native under "$choir" run ./mini host.data
[ ! -s errors ] || fail "native says: $(cat errors)"

# Sieving: holes are read and written back, unless that is forbidden.
holes() {  # holes SETTING...: bytes of holes that two_phase reads in writing small pieces with gaps
  env "$@" CHOIR_STATS=1 "$launch" "$mpi" 2 "$choir" bench irregular --piece 64 --bytes-per-rank 64K --write \
    --contenders two_phase --repeat 1 --warmup 1 --progress none > out 2> errors || fail "bench: $(cat out errors)"
  sed -n 's/.*holes sieved \([^,]*\),.*/\1/p' errors | head -1
}
some=$(holes CHOIR_SIEVE_THRESHOLD=0.1)
[ -n "$some" ] && [ "$some" != '0 B' ] || fail "nothing was sieved: $(cat errors)"
[ "$(holes CHOIR_SIEVE_THRESHOLD=0.1 CHOIR_SIEVE_READS=0)" = "$some" ] || fail "sieve_reads decides on writes: $(cat errors)"
[ "$(holes CHOIR_SIEVE_THRESHOLD=0.1 CHOIR_SIEVE_WRITES=0)" = '0 B' ] || fail "sieved though forbidden: $(cat errors)"

# A plug-in's strategy serves like any other.
CHOIR_PLUGINS=$plugin under "$choir" run --stats --strategy leader ./mini plugin.data
grep -q 'leader (' errors || fail "the plug-in did not serve: $(cat errors)"
cmp native.data plugin.data || fail 'the bytes differ with the plug-in'

# Scripts and wrappers: the launcher tells the MPI. What LD_PRELOAD held stays, and choir is not loaded twice.
printf '#!/bin/sh\necho "$LD_PRELOAD" > preload.$$\nexec ./mini "$1"\n' > script && chmod +x script
under "$choir" run --stats ./script fourth.data
active
under "$choir" run --stats env A=1 "$choir" run ./mini fifth.data
active
echo 'int unused_by_choir;' > other.c && "$mpicc" -shared -fPIC -o libother.so other.c
rm -f preload.*
LD_PRELOAD=$PWD/libother.so under "$choir" run ./script sixth.data
grep -q "^$PWD/libother.so:.*libchoir_mpiio.so$" <<< "$(cat preload.*)" || fail "LD_PRELOAD became: $(cat preload.*)"

# MPI_File_sync reaches the device, whoever wrote the bytes.
printf '%s\n' '#define _GNU_SOURCE' '#include <dlfcn.h>' '#include <unistd.h>' 'int fsync(int fd) {' \
  '  if (write(2, "synced\n", 7) != 7) return -1;' \
  '  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }' > sync.c && "$mpicc" -shared -fPIC -o libsync.so sync.c
for strategy in two_phase mapped individual; do
  LD_PRELOAD=$PWD/libsync.so under "$choir" run --strategy "$strategy" ./mini seventh.data
  grep -q synced errors || fail "nothing was flushed with $strategy: $(cat errors)"
done

# The program's exit status is choir's.
code=0
"$choir" run --mpi "$mpi" sh -c 'exit 7' || code=$?
[ "$code" = 7 ] || fail "exit status $code, not 7"

# Without a launcher (MPI_COMM_WORLD of one), and from PATH.
PATH=$PWD:$PATH "$choir" run --stats mini alone.data > out 2> errors || fail "alone: $(cat out errors)"
grep -q '1 ranks, right' out || fail "alone: $(cat out)"

# A program of one MPI under the other's launcher: said, not hidden.
case $mpi in mpich) sign=OMPI_COMM_WORLD_SIZE=2 ;; *) sign=HYDI_CONTROL_FD=1 ;; esac
env "$sign" "$choir" run -v ./mini odd.data > out 2>&1 || true
grep -q 'every rank will believe it is alone' out || fail "no warning: $(cat out)"
echo 'runs'
