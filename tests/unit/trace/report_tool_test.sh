#!/usr/bin/env bash
# report_tool_test.sh SAMPLE-TRACE CHOIR-EXPLAIN CHOIR-REPORT: exit status and words where something is wrong.
set -euo pipefail
sample=$(realpath "$1") explain=$(realpath "$2") report=$(realpath "$3")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "report_tool_test: $*" >&2; exit 1; }
# ends STATUS TEXT COMMAND...: with this status and TEXT among the errors; output goes where the caller sends it.
ends() {
  local status=$1 text=$2 code=0
  shift 2
  timeout 30 "$@" 2> errors || code=$?
  [ "$code" = "$status" ] || fail "'$*' exits with $code, not $status: $(cat errors)"
  [ -z "$text" ] || grep -qF -- "$text" errors || fail "'$*' does not say '$text' but: $(cat errors)"
}

"$sample" trace > /dev/null
"$explain" trace > out || fail "explain"
for tool in "$explain" "$report"; do
  ends 2 TRACE "$tool" > /dev/null
  ends 1 "cannot write" "$tool" trace > /dev/full
done

echo 'tools are right'
