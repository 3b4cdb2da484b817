#!/usr/bin/env bash
# siblings.sh CHOIR: choir of one tree runs programs of the other MPI too, if that tree is built. Exit 77 if not.
. "$(dirname "$0")/common.sh"
"$choir" info --json > info.json
[ "$(grep -c '"mpi_library"' info.json)" -ge 2 ] || { echo 'only one MPI is built'; exit 77; }
for mpi in mpich openmpi; do
  "mpicc.$mpi" -o "mini.$mpi" "$here/mini.c"
  "$root/scripts/mpi-launch" "$mpi" 2 "$choir" run --stats "./mini.$mpi" "$mpi.data" > out 2> errors ||
    fail "$mpi: $(cat out errors)"
  grep -q '2 ranks, right' out || fail "$mpi: $(cat out errors)"
  grep -q '^choir: .*(2 ranks' errors || fail "choir was not active for $mpi: $(cat errors)"
done
cmp mpich.data openmpi.data || fail 'the two MPIs wrote different bytes'
# A program of one MPI with a library of the other is told of it, and --mpi of the wrong family is refused.
echo 'int MPI_Init(int*, char***); int other(void) { return MPI_Init(0, 0); }' > other.c
mpicc.mpich -shared -fPIC -o libother.so other.c
echo 'int main(void) { return 0; }' > both.c
mpicc.openmpi -o both both.c -Wl,--no-as-needed,-rpath,"$PWD" libother.so -lmpi
"$choir" run ./both > out 2>&1 || true  # whether it runs is not choir's affair
grep -q 'loads two MPI libraries, .*libmpi.so.40.* and .*libmpich.so.12' out || fail "not told of two MPIs: $(cat out)"
refuses '--mpi mpich is asked for, but ./mini.openmpi uses Open MPI' run --mpi mpich ./mini.openmpi
refuses '--mpi openmpi is asked for, but ./mini.mpich uses MPICH (libmpich.so.12)' run --mpi openmpi ./mini.mpich
# Python names its MPI by the launcher, and by mpi4py where there is none.
if /usr/bin/python3 -c 'import mpi4py' 2> /dev/null; then
  "$choir" run -v /usr/bin/python3 -c 'print("python", 1)' > out 2>&1 || fail "python: $(cat out)"
  grep -q 'uses openmpi' out || fail "mpi4py was not found: $(cat out)"
  HYDI_CONTROL_FD=1 "$choir" run -v /usr/bin/python3 -c 'print("python", 1)' > out 2>&1 || fail "python: $(cat out)"
  grep -q 'uses mpich' out || fail "the launcher was not asked: $(cat out)"
fi
echo 'both MPIs'
