#!/usr/bin/env bash
# minimal.sh SOURCE MPICC [build]: choir is configured with mpicc alone, without the libraries that only some tools need,
# and names what it leaves out. With `build` it is built and installed too, and runs a program.
set -euo pipefail
source=$1 mpicc=$2 build=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# What is set is not searched for: so these are not found.
without=()
for name in LEMON_INCLUDE_DIR LEMON_LIBRARY CBC_INCLUDE_DIR CBC_LIBRARY CBC_SOLVER_LIBRARY CHOIR_SCOTCH_LIBRARY \
  CHOIR_HWLOC_LIBRARY CHOIR_CHART_JS CHOIR_PYTHON CHOIR_RAPIDCHECK_INCLUDE; do without+=("-D$name=OFF"); done
cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$mpicc" -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON \
  -DCMAKE_INSTALL_LIBDIR=lib64 "${without[@]}" > "$work/log" 2>&1 || fail "configure: $(cat "$work/log")"
for part in 'choir-place (no hwloc or no Scotch)' 'choir-assign (no LEMON)' 'choir-report (no chart' 'tests without MPI (no' \
  '(no python3)'; do
  grep -qF "choir: left out: " "$work/log" && grep -F 'choir: left out: ' "$work/log" | grep -qF "$part" ||
    fail "'$part' is not named: $(cat "$work/log")"
done

# A compiler of no known MPI is told of.
printf '#!/bin/sh\nexit 1\n' > "$work/mpicc-none" && chmod +x "$work/mpicc-none"
! cmake -S "$source" -B "$work/none" -DCHOIR_MPI=openmpi -DCHOIR_MPICC="$work/mpicc-none" > "$work/log" 2>&1 ||
  fail 'a compiler that is none was accepted'
[ -n "$build" ] || { echo 'configures'; exit 0; }

cmake --build "$work/build" -j 2 > "$work/log" 2>&1 || fail "build: $(tail -30 "$work/log")"
cmake --install "$work/build" --strip --prefix "$work/prefix" > "$work/log" 2>&1 || fail "install: $(cat "$work/log")"
"$work/prefix/bin/choir" info > "$work/info" || fail 'choir info'
grep -q "$work/prefix/lib64/choir/" "$work/info" || fail "lib64 is not used: $(cat "$work/info")"
"$mpicc" -o "$work/mini" "$source/tools/choir/tests/mini.c"
(cd "$work" && "$work/prefix/bin/choir" run --stats ./mini out.data) > "$work/log" 2>&1 || fail "run: $(cat "$work/log")"
grep -q '^choir: ' "$work/log" || fail "choir was not active: $(cat "$work/log")"
echo 'builds, installs, runs'
