#!/usr/bin/env bash
# install.sh CHOIR BUILD MPI MPICC VERSION: an installation into a fresh prefix is complete, and plug-ins build against it.
# With both trees built, both are installed into the one prefix, as `make install` does.
. "$(dirname "$0")/common.sh"
build=$2 mpi=$3 mpicc=$4 version=$5
prefix=$work/prefix
mpis=("$mpi")
for other in mpich openmpi; do
  tree=$(dirname "$build")/$other
  if [ "$other" != "$mpi" ] && [ -e "$tree/lib/libchoir.so" ] && [ -e "$tree/bin/choir-bench" ]; then
    cmake --install "$tree" --prefix "$prefix" --strip > log 2>&1 || fail "install of $other: $(cat log)"
    mpis+=("$other")
  fi
done
cmake --install "$build" --prefix "$prefix" --strip > log 2>&1 || fail "install: $(cat log)"
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
env "MPICC_$mpi=$mpicc" "$here/check-installed" "$prefix" "$libdir" "$version" "${mpis[@]}"

# Two MPIs in one program: CMake says so, whether a target gets both or the compiler is the other's.
two_mpis() {  # two_mpis TEXT COMPILER PACKAGE-LINE LINKED...: configuring fails with TEXT
  local text=$1 compiler=$2 package=$3
  shift 3
  rm -rf two && mkdir two && cp "$here/api.c" two/
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(two LANGUAGES C)' "find_package(choir REQUIRED $package)" \
    'add_executable(api api.c)' "target_link_libraries(api PRIVATE $*)" > two/CMakeLists.txt
  ! cmake -S two -B two/build -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "two MPIs: $(cat log)"
  tr -s '\n ' ' ' < log | grep -qF "$text" || fail "two MPIs, not '$text' but: $(cat log)"
}
if [ ${#mpis[@]} -gt 1 ]; then
  two_mpis 'CHOIR_MPI' gcc 'COMPONENTS mpich openmpi' choir::mpich choir::openmpi
  two_mpis 'the program would load two' mpicc.openmpi 'COMPONENTS mpich' choir::choir
  two_mpis 'the program would load two' mpicc.mpich 'COMPONENTS openmpi' choir::choir
fi

# Beside the programs: licence, a sample, examples, module files that know their place and keep the system's manual pages.
for file in doc/choir/LICENSE doc/choir/choir.toml doc/choir/examples/strategy_plugin/leader.cpp choir/modulefiles/choir.lua \
  choir/modulefiles/choir; do
  [ -s "$prefix/share/$file" ] || fail "no $file"
done
grep -q '^append-path MANPATH {}' "$prefix/share/choir/modulefiles/choir" || fail 'the module hides the manual pages of the system'
CHOIR_CONFIG=$prefix/share/doc/choir/choir.toml "$prefix/bin/choir" info > out 2>&1 || fail 'the sample is not read'
! grep -q warning out || fail "the sample gives: $(cat out)"
most_kib=$((60 * 1024))  # with both MPIs; 233 MB it was, unstripped
kib=$(du -sk "$prefix" | cut -f1)
[ "$kib" -lt "$most_kib" ] || fail "the installation takes $kib KiB"

cmake -S "$root/examples/strategy_plugin" -B plugin -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "plug-in: $(cat log)"
cmake --build plugin > log 2>&1 || fail "plug-in: $(cat log)"
grep -q '^  leader ' <<< "$(CHOIR_PLUGINS=$work/plugin/libleader.so "$prefix/bin/choir" info)" || fail 'the plug-in does not load'
echo 'installs'
