#!/usr/bin/env bash
# memory_tool_test.sh CHOIR-MEMORY: list and forget on a file of three entries.
set -euo pipefail
tool=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder
fail() { echo "$*" >&2; exit 1; }

grep -q "nothing remembered" <<< "$("$tool" list)" || fail "an empty memory must say so"
mkdir "$folder/choir"
printf '00000000000000aa\t64\t4\tlustre\t1.0\ttwo_phase\t1048576000\t1700000000\n' > "$folder/choir/memory"
printf '00000000000000bb\t8\t1\text4\t1.0\tnative\t104857600\t1700000000\n' >> "$folder/choir/memory"
printf 'broken line\n' >> "$folder/choir/memory"
printf '00000000000000cc\t8\t1\text4\t1.0\tmapped\t104857600\t1700000000\n' >> "$folder/choir/memory"

[ "$("$tool" list | wc -l)" -eq 4 ] || fail "list must show a heading and three entries"
grep -q '00000000000000aa.*two_phase.*1000.0' <<< "$("$tool" list lustre)" || fail "list PATTERN"
[ "$("$tool" forget 'ma*')" = "forgot 1 entry" ] || fail "forget PATTERN"
[ "$("$tool" list | wc -l)" -eq 3 ] || fail "forgetting removed something else"
[ "$("$tool" forget)" = "forgot 2 entries" ] || fail "forget everything"
"$tool" list nothing-like-this > /dev/null || fail "no match is not an error"
if "$tool" 2> /dev/null; then fail "a missing command must be an error"; fi
if "$tool" list --file /proc/self/mem/x 2> "$folder/why"; then fail "an unreadable file must be an error"; fi
grep -q "cannot open" "$folder/why" || fail "an error must say why"
