#!/usr/bin/env bash
# install.sh CHOIR BUILD MPI MPICC VERSION: an installation into a fresh prefix is complete: programs and tools run from
# there, programs build against it by pkg-config and by CMake, and so do plug-ins. With both trees built, both are
# installed into the one prefix, as `make install` does.
. "$(dirname "$0")/common.sh"
build=$2 mpi=$3 mpicc=$4 version=$5
launch=$root/scripts/mpi-launch
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
for page in man1/choir.1 man1/choir-bench.1 man5/choir.toml.5; do [ -s "$prefix/share/man/$page" ] || fail "no manual page $page"; done

"$prefix/bin/choir" info > out || fail "choir info: $(cat out)"
for one in "${mpis[@]}"; do grep -q "^  $one .*$prefix/" out || fail "choir info does not name the installed $one: $(cat out)"; done

for one in "${mpis[@]}"; do
  compiler=$([ "$one" = "$mpi" ] && echo "$mpicc" || echo "mpicc.$one")
  "$compiler" -o mini "$here/mini.c"
  "$launch" "$one" 2 "$prefix/bin/choir" run -v --stats ./mini "data.$one" > out 2> errors ||
    fail "installed choir, $one: $(cat out errors)"
  grep -q '2 ranks, right' out && grep -q '^choir: .*(2 ranks' errors || fail "installed choir, $one: $(cat out errors)"
  grep -q "preloading $prefix/" errors || fail "another library than the installed one: $(cat errors)"

  # The benchmark, as a command of choir and by itself, with the installed front door.
  few=(small --bytes-per-rank 4K --repeat 1 --warmup 1 --contenders host,two_phase --progress none)
  "$launch" "$one" 2 "$prefix/bin/choir" bench "${few[@]}" > out 2>&1 || fail "choir bench, $one: $(cat out)"
  grep -q two_phase out || fail "choir bench, $one: $(cat out)"
  "$launch" "$one" 2 "$prefix/lib/choir/$one/bin/choir-bench" "${few[@]}" > out 2>&1 || fail "choir-bench, $one: $(cat out)"

  # A program that uses choir's interface, by pkg-config.
  flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs "choir-$one") || fail "pkg-config choir-$one"
  # The words are meant to be split.
  # shellcheck disable=SC2086
  "$compiler" -o api "$here/api.c" $flags || fail "api.c does not build with: $flags"
  "$launch" "$one" 2 ./api api.data > out 2>&1 || fail "api: $(cat out)"
  grep -q "choir $version is absent, the call worked" out || fail "api: $(cat out)"
  "$launch" "$one" 2 "$prefix/bin/choir" run ./api api.data > out 2>&1 || fail "api under choir: $(cat out)"
  grep -q "choir $version is active, the call worked" out || fail "api under choir: $(cat out)"
done

# The same by CMake.
mkdir cmake && cp "$here/api.c" cmake/
cat > cmake/CMakeLists.txt <<C
cmake_minimum_required(VERSION 3.25)
project(api LANGUAGES C)
find_package(choir $version REQUIRED COMPONENTS $mpi)
add_executable(api api.c)
target_link_libraries(api PRIVATE choir::choir)
C
cmake -S cmake -B cmake/build -DCMAKE_C_COMPILER="$mpicc" -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "find_package: $(cat log)"
cmake --build cmake/build > log 2>&1 || fail "find_package: $(cat log)"
"$launch" "$mpi" 2 "$prefix/bin/choir" run cmake/build/api api.data > out 2>&1 || fail "api by CMake: $(cat out)"
grep -q "choir $version is active, the call worked" out || fail "api by CMake: $(cat out)"

cmake -S "$root/examples/strategy_plugin" -B plugin -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "plug-in: $(cat log)"
cmake --build plugin > log 2>&1 || fail "plug-in: $(cat log)"
CHOIR_PLUGINS=$work/plugin/libleader.so "$prefix/bin/choir" info | grep -q '^  leader ' || fail 'the plug-in does not load'
echo "installs: ${mpis[*]}"
