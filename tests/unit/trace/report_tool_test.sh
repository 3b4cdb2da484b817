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

# Numbers that cannot be true cost neither time nor memory.
damaged() {  # damaged RANK EXPRESSION: changes a rank's records by sed
  sed -i -E "$2" "damaged/$1.jsonl"
}
cp -r trace damaged
damaged rank-0 's/"offset_low":-?[0-9]+/"offset_low":-9223372036854775808/'
damaged rank-1 's/"offset_high":-?[0-9]+/"offset_high":9223372036854775807/'
grep -q 9223372036854775807 damaged/rank-1.jsonl || fail "the sample has no offsets"
for tool in "$explain" "$report"; do ends 0 "" "$tool" damaged > /dev/null; done
damaged rank-1 's/"ranks":[0-9]+/"ranks":1000000000/; s/"rank":[0-9]+/"rank":999999999/'
for tool in "$explain" "$report"; do ends 1 "rank 999999999" "$tool" damaged > /dev/null; done
echo 'tools are right'
