#!/usr/bin/env bash
# memory_tool_test.sh CHOIR-MEMORY: list and forget on a file of three entries, of an old one and of a damaged one.
set -euo pipefail
tool=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# The tester's own settings must not decide.
for variable in $(compgen -e | grep '^CHOIR_' || true); do unset "$variable"; done
export XDG_CACHE_HOME=$folder
fail() { echo "$*" >&2; exit 1; }

grep -q "nothing remembered" <<< "$("$tool" list)" || fail "an empty memory must say so"
mkdir "$folder/choir"
# entry CLASS RANKS MOUNT SERVES RIVALS
entry() { printf '%s\t%s\t1\tXeon\t%s\tmpich\t1700000000\t%s\t10\t0.5\t0\t40\t40\tcomparing\t1e-9\t1e-9\t-\t%s\n' "$@"; }
entry 'write 16M by 512 interleaved gaps even beyond' 16 '/scratch(lustre)' two_phase 'native=1.0986,1.0986' > "$folder/choir/memory"
entry 'read 64K by 64K adjacent dense even warm' 8 '/(ext4)' native - >> "$folder/choir/memory"
printf 'broken line\n' >> "$folder/choir/memory"
printf '00000000000000cc\t8\t1\text4\t1.0\tmapped\t104857600\t1700000000\n' >> "$folder/choir/memory"
entry 'write 1M by 1M apart dense even inside' 8 '/(ext4)' mapped - >> "$folder/choir/memory"

[ "$("$tool" list | grep -c ' ranks on ')" -eq 3 ] || fail "list must show three entries"
[ "$("$tool" list '*lustre*' | grep -c ' ranks on ')" -eq 1 ] || fail "list PATTERN"
for text in 'write 16M by 512 interleaved' '16 ranks on 1 nodes, /scratch(lustre), Xeon, mpich; 2023-11-' \
    'two_phase serves, at 954 MiB/s; 40 calls' 'native takes 3.00 times as long (318 MiB/s); 2 comparisons, clear enough' \
    'cost 5.0 % of the time'; do
  grep -qF "$text" <<< "$("$tool" list '*lustre*')" || fail "list does not show: $text"
done
[ "$("$tool" forget 'ma*')" = "forgot 1 entry" ] || fail "forget PATTERN"
[ "$("$tool" list | grep -c ' ranks on ')" -eq 2 ] || fail "forgetting removed something else"
[ "$("$tool" forget)" = "forgot 2 entries" ] || fail "forget everything"
"$tool" list nothing-like-this > /dev/null || fail "no match is not an error"
code=0
"$tool" > /dev/null 2>&1 || code=$?
[ "$code" = 2 ] || fail "a missing command exits with $code, not 2"
"$tool" --help > /dev/null || fail "help is not an error"
if "$tool" list --file /proc/self/mem/x 2> "$folder/why"; then fail "an unreadable file must be an error"; fi
grep -q "cannot open" "$folder/why" || fail "an error must say why"

# The file that jobs use: the setting `memory`, from the environment before the configuration; --file goes over both.
entry 'read 64K by 64K adjacent dense even warm' 8 '/(ext4)' native - > configured
entry 'read 64K by 64K adjacent dense even warm' 8 '/(ext4)' mapped - > chosen
echo 'memory = "configured"' > choir.toml
grep -q native <<< "$("$tool" list)" || fail "the file of the configuration is not listed"
grep -q mapped <<< "$(CHOIR_MEMORY=$folder/chosen "$tool" list)" || fail "the file of CHOIR_MEMORY is not listed"
grep -q native <<< "$(CHOIR_MEMORY=$folder/chosen "$tool" list --file configured)" || fail "--file does not decide"
[ "$(CHOIR_MEMORY=$folder/chosen "$tool" forget)" = "forgot 1 entry" ] || fail "CHOIR_MEMORY: forget"
grep -q native configured || fail "forgot in another file"
grep -q "in $folder/choir/memory" <<< "$(CHOIR_MEMORY=on "$tool" list)" || fail "on is not the user's own file"
code=0
CHOIR_MEMORY=off "$tool" forget 2> why || code=$?
[ "$code" = 1 ] || fail "forgetting without a memory exits with $code"
grep -q "memory is off (environment)" why || fail "no memory: $(cat why)"

# What could not be shown was not listed.
code=0
"$tool" list --file configured 2> why > /dev/full || code=$?
[ "$code" = 1 ] || fail "a full device exits with $code"
grep -q "cannot write" why || fail "a full device: $(cat why)"
