#!/usr/bin/env bash
# refusals.sh CHOIR CC: programs that cannot run under choir get exit 2 and a sentence that says why.
. "$(dirname "$0")/common.sh"
cc=$2

refuses 'choir run needs a program' run
refuses 'cannot find the program ./missing' run ./missing
refuses 'cannot find the program no-such-program-here in PATH' run no-such-program-here
touch plain-file
refuses 'plain-file is not executable' run ./plain-file
refuses 'is a folder' run /usr
chmod +x plain-file
refuses 'neither a program nor a script' run ./plain-file
refuses 'not expected: --frobnicate' run --frobnicate ./plain-file
refuses 'uses no MPI' run ls
refuses "no strategy 'fast'" run --mpi mpich --strategy fast ls

echo 'int main(void) { return 0; }' > empty.c
"$cc" -static -o static empty.c && refuses 'statically linked' run ./static
"$cc" -static-pie -o static-pie empty.c && refuses 'statically linked' run ./static-pie
head -c 100 ./static > truncated && chmod +x truncated
refuses 'damaged ELF file' run ./truncated
printf '#!/no/such/interpreter\n' > script && chmod +x script
refuses 'interpreter /no/such/interpreter, which does not exist' run ./script
printf '#!%s/loop\n' "$PWD" > loop && chmod +x loop
refuses 'too many #! lines' run ./loop
printf '#!/bin/sh\necho hello\n' > shell && chmod +x shell
# With one MPI built there is nothing to choose.
[ "$("$choir" info --json | grep -c '"mpi_library"')" -lt 2 ] || refuses 'name it with --mpi' run ./shell
mkdir -p 32 && "$cc" -m32 -o 32/program empty.c 2> /dev/null && refuses 'another kind of machine' run 32/program

# An MPI that choir is not built for is named: a library with its name stands for it.
mkdir lib
echo 'int MPI_Init(int* a, char*** b) { (void)a; (void)b; return 0; }' > mpi.c
echo 'int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }' > user.c
foreign() {  # foreign SONAME TEXT
  "$cc" -shared -fPIC -Wl,-soname,"$1" -o "lib/$1" mpi.c
  "$cc" -o user user.c "lib/$1" -Wl,-rpath,'$ORIGIN/lib'
  refuses "$2" run ./user
}
foreign libmpi.so.20 'Open MPI of another version (libmpi.so.20), but this choir is built for'
foreign libmpi_cray.so.12 'Cray MPICH (libmpi_cray.so.12)'
foreign libmpi.so.12 'an MPI that does not say which it is (libmpi.so.12)'
foreign libmpi_abi.so.0 "the MPI standard's own ABI (libmpi_abi.so.0)"
grep -q 'Link the program with the mpicc' out || fail "no advice: $(cat out)"
foreign libmpi_ibm.so.3 'IBM Spectrum MPI'
# Also when a library of the program's needs it, not the program.
"$cc" -shared -fPIC -o lib/libmiddle.so user.c -Wl,-rpath,'$ORIGIN' lib/libmpi_ibm.so.3
echo 'int middle(void); int main(void) { return 0; }' > far.c
"$cc" -Wl,--no-as-needed -o far far.c lib/libmiddle.so -Wl,-rpath,'$ORIGIN/lib' -Wl,--allow-shlib-undefined
refuses 'IBM Spectrum MPI' run ./far

# --mpi of another family than the program's is refused before the program starts.
"$cc" -shared -fPIC -Wl,-soname,libmpi.so.40 -o lib/libmpi.so.40 mpi.c
"$cc" -o user user.c lib/libmpi.so.40 -Wl,-rpath,'$ORIGIN/lib'
if "$choir" info --json | grep -q '"mpi_library": "libmpich.so.12"'; then
  refuses '--mpi mpich is asked for, but ./user uses Open MPI 4 or 5 (libmpi.so.40)' run --mpi mpich ./user
fi

# The wrong way round.
refuses 'mpiexec -n 2 choir run --stats ./user' run --stats mpiexec -n 2 ./user
refuses '/usr/bin/mpirun.openmpi --oversubscribe -np 4 choir run ./user a b' run /usr/bin/mpirun.openmpi --oversubscribe -np 4 ./user a b
refuses 'srun OPTIONS choir run PROGRAM' run srun -n 2 app-in-path

refuses "no command 'frobnicate'; there are run, info" frobnicate
touch app && chmod +x app
refuses 'Did you mean choir run ./app?' ./app
refuses 'there is no option --frobnicate' --frobnicate
refuses 'cannot read missing.toml' run --config missing.toml --mpi mpich ls
echo 'all refused as they should be'
