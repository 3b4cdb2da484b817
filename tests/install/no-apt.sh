#!/usr/bin/env bash
# no-apt.sh SOURCE: make says what to install where there is no apt, and make install says that nothing is built.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
mkdir "$work/bin" "$work/tree"
for program in bash sh env make cat dirname sed id nproc; do ln -s "$(command -v $program)" "$work/bin/$program"; done
cp -r "$source/Makefile" "$source/scripts" "$work/tree/"
code=0
PATH=$work/bin make -C "$work/tree" > "$work/out" 2>&1 || code=$?
[ "$code" != 0 ] || fail 'make succeeds without anything'
for text in 'has no apt' '-DCMAKE_C_COMPILER=mpicc' toml11 liburing; do
  grep -qF -- "$text" "$work/out" || fail "'$text' is not said: $(cat "$work/out")"
done
! PATH=$work/bin make -C "$work/tree" install PREFIX="$work/prefix" > "$work/out" 2>&1 || fail 'nothing was installed with success'
grep -q 'nothing is built; run make first' "$work/out" || fail "make install says: $(cat "$work/out")"
echo 'says what to install'
