#!/usr/bin/env bash
# install.sh CHOIR BUILD MPI MPICC: an installation into a fresh prefix runs programs, and plug-ins build against it.
. "$(dirname "$0")/common.sh"
build=$2 mpi=$3 mpicc=$4
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" > log 2>&1 || fail "install: $(cat log)"
"$mpicc" -o mini "$here/mini.c"
"$root/scripts/mpi-launch" "$mpi" 2 "$prefix/bin/choir" run -v --stats ./mini data > out 2> errors ||
  fail "installed choir: $(cat out errors)"
grep -q '2 ranks, right' out && grep -q '^choir: .*(2 ranks' errors || fail "installed choir: $(cat out errors)"
grep -q "preloading $prefix/" errors || fail "another library than the installed one: $(cat errors)"
for page in man1/choir.1 man5/choir.toml.5; do [ -s "$prefix/share/man/$page" ] || fail "no manual page $page"; done
cmake -S "$root/examples/strategy_plugin" -B plugin -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 || fail "plug-in: $(cat log)"
cmake --build plugin > log 2>&1 || fail "plug-in: $(cat log)"
CHOIR_PLUGINS=$work/plugin/libleader.so "$prefix/bin/choir" info | grep -q '^  leader ' || fail 'the plug-in does not load'
if [ -e "$prefix/lib/pkgconfig/choir-$mpi.pc" ]; then
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs "choir-$mpi" > out || fail 'pkg-config'
  grep -q -- '-lchoir' out || fail "pkg-config says $(cat out)"
fi
echo 'installs'
