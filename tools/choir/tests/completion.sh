#!/usr/bin/env bash
# completion.sh CHOIR: the shells complete what there is. bash is asked; for zsh its word lists are compared.
. "$(dirname "$0")/common.sh"
PATH=$(dirname "$choir"):$PATH
set +eu  # as in an interactive shell
. "$root/completions/choir.bash" || fail 'choir.bash does not load'

completes() {  # completes EXPECTED WORD...: EXPECTED is among the completions of the last word
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _choir
  grep -qxF -- "$expected" <<< "$(printf '%s\n' "${COMPREPLY[@]}")" || fail "'$*' completes to: ${COMPREPLY[*]}"
}
completes run choir r
completes --strategy choir run --str
completes two_phase choir run --strategy two
completes mpich choir run --mpi m
completes forget choir memory f
completes subarray4d choir bench sub
completes --drop-caches choir bench vector --drop
completes static_segmentation choir bench vector --contenders static
completes --threshold choir bench compare --thr
completes --version choir run --v
completes --version choir info --v

set -euo pipefail
for tool in $("$choir" info --json | /usr/bin/python3 -c 'import json, sys; print(*json.load(sys.stdin)["tools"])'); do
  completes "$tool" choir "$tool"
  grep -q "^    '$tool:" "$root/completions/_choir" || fail "zsh does not know choir $tool"
done
echo 'completes'
