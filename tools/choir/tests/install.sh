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
    cmake --install "$tree" --prefix "$prefix" > log 2>&1 || fail "install of $other: $(cat log)"
    mpis+=("$other")
  fi
done
cmake --install "$build" --prefix "$prefix" > log 2>&1 || fail "install: $(cat log)"
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
env "MPICC_$mpi=$mpicc" "$here/check-installed" "$prefix" "$libdir" "$version" "${mpis[@]}"

cmake -S "$root/examples/strategy_plugin" -B plugin -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "plug-in: $(cat log)"
cmake --build plugin > log 2>&1 || fail "plug-in: $(cat log)"
grep -q '^  leader ' <<< "$(CHOIR_PLUGINS=$work/plugin/libleader.so "$prefix/bin/choir" info)" || fail 'the plug-in does not load'
echo 'installs'
