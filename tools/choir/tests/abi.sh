#!/usr/bin/env bash
# abi.sh CHOIR MPICC: programs whose library is libmpi.so.12, the name that the family of MPICH shares, are served.
# MPICH's own library under that name stands for Intel MPI, MVAPICH and the others.
. "$(dirname "$0")/common.sh"
mpicc=$2
own=$(sed -nE 's/^ +"mpi_path": "(.*libmpich\.so\.12)".*/\1/p' <<< "$("$choir" info --json)")
[ -n "$own" ] || { echo 'this MPICH has the name libmpi.so.12 itself'; exit 77; }

# The names inside the file change with it; both are followed by a zero byte.
mkdir lib
/usr/bin/python3 - "$own" lib/libmpi.so.12 <<'P'
import sys
data = open(sys.argv[1], "rb").read()
assert data.count(b"\0libmpich.so.12\0") == 1
open(sys.argv[2], "wb").write(data.replace(b"\0libmpich.so.12\0", b"\0libmpi.so.12\0\0\0"))
P
"$mpicc" -c -o mini.o "$here/mini.c"
cc -o mini mini.o lib/libmpi.so.12 -Wl,-rpath,"$PWD/lib"
readelf -d mini | grep -q 'libmpi.so.12' || fail 'the program does not use the name'

for preload in native choir; do
  under=()
  [ "$preload" = native ] || under=("$choir" run -v --stats)
  "$root/scripts/mpi-launch" mpich 2 "${under[@]}" ./mini "$preload.data" > out 2> errors || fail "$preload: $(cat out errors)"
  grep -q '2 ranks, right' out || fail "$preload: $(cat out errors)"
done
grep -q '^choir: .*(2 ranks' errors || fail "choir was not active: $(cat errors)"
grep -q 'uses mpich (libmpi.so.12)' errors || fail "-v says: $(cat errors)"
cmp native.data choir.data || fail 'the bytes differ'

# One MPI library in the process: the program's.
preloaded=$(sed -n 's/.*preloading //p' errors)
LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$preloaded ./mini > out 2>&1
grep -q 'libmpi.so.12 => '"$PWD" out || fail "the program's library is not loaded: $(cat out)"
! grep -q 'libmpich.so.12' out || fail "a second MPI library is loaded: $(cat out)"

# A library of that name that does not say it is of the family is not served.
sed 's/MPICH Version:/SOMEONE ELSES:/g' lib/libmpi.so.12 > lib/other && mv lib/other lib/libmpi.so.12
refuses 'uses an MPI that does not say which it is (libmpi.so.12)' run ./mini
echo 'the shared name is served'
