#!/usr/bin/env bash
# info.sh CHOIR MPI VERSION PLUGIN: choir info tells version, MPI, backends, strategies, settings and their sources.
. "$(dirname "$0")/common.sh"
mpi=$2 version=$3 plugin=$4

says "choir $version" --version
says 'choir run ./app' --help
says 'Usage: choir run' run --help
says "choir $version" info
for text in "$mpi" posix threaded io_uring two_phase native 'cycle_buffer_bytes'; do says "$text" info; done

printf 'cycle_buffer_bytes = "2M"\nexamine = "paper"\n[strategy.mine]\npartition = "even"\n' > choir.toml
printf 'sieve_threshold = 0.3\n' > other.toml
CHOIR_STATS=1 CHOIR_NONSENSE=1 CHOIR_BACKEND=tape "$choir" info --json > info.json 2> warnings
/usr/bin/python3 - "$version" "$mpi" <<'P' || fail "the JSON is not as it should be"
import json, sys
info = json.load(open("info.json"))
settings = {row["key"]: row for row in info["settings"]}
assert info["version"] == sys.argv[1]
assert sys.argv[2] in [row["name"] for row in info["mpi"]]
assert settings["cycle_buffer_bytes"]["value"] == str(2 << 20)
assert settings["cycle_buffer_bytes"]["source"] == "choir.toml"
assert settings["stats"]["value"] == "1" and settings["stats"]["source"] == "environment"
assert settings["sieve_threshold"]["source"] == "default"
assert settings["backend"]["value"] == "auto"
assert {"auto", "mine"} & {row["name"] for row in info["strategies"]} == {"mine"}
assert len(info["warnings"]) == 2, info["warnings"]
P
grep -q 'backend = "tape" (environment): accepted is auto, posix, threaded or io_uring' warnings || fail "no warning: $(cat warnings)"
grep -q 'nonsense = "1"' warnings || fail "no warning: $(cat warnings)"
CHOIR_CONFIG=other.toml says '0.300000      other.toml' info

CHOIR_PLUGINS=$plugin says 'leader                 one rank per node' info
CHOIR_PLUGINS=./missing.so says 'plug-in ignored: ./missing.so: ' info

# What is shown is what a program would get: names that are no strategy are not in force.
in_force() { "$choir" info 2> /dev/null | sed -nE "s/^  $1 +([^ ]+) .*/\1/p" | tail -1; }  # in_force KEY
[ "$(CHOIR_STRATEGY=nonsense in_force strategy)" = auto ] || fail 'a strategy that does not exist is shown as in force'
CHOIR_STRATEGY=nonsense says 'there is no such strategy' info
[ "$(CHOIR_STRATEGY=two_phase in_force strategy)" = two_phase ] || fail 'a strategy is not shown'
[ "$(CHOIR_CANDIDATES=two_phase,tape in_force candidates)" = two_phase ] || fail 'a candidate that does not exist is shown'

# Looking into a folder runs no code of that folder; a program started there does, if the file is to be trusted.
printf 'plugins = "%s"\n' "$plugin" > choir.toml
says 'the plug-ins that ./choir.toml names are not loaded here' info
grep -q '^  leader ' out && fail 'choir info loaded a plug-in of the folder'
CHOIR_CONFIG=choir.toml says 'leader                 one rank per node' info
chmod go+w choir.toml
says 'choir.toml is ignored: other users may write it' info
chmod go-w choir.toml
if [ "$(id -u)" = 0 ]; then
  chown nobody choir.toml
  says 'choir.toml is ignored: it belongs to another user' info
  [ "$(in_force plugins)" = - ] || fail "another user's plug-ins are in force"
fi

# Every setting is in the manual.
/usr/bin/python3 - "$root/man/choir.toml.5" <<'P' || fail "choir.toml(5) is not complete"
import json, sys
manual = open(sys.argv[1]).read().replace("\\-", "-")
missing = [row["key"] for row in json.load(open("info.json"))["settings"] if ".B " + row["key"] + "\n" not in manual]
assert not missing, missing
P
echo 'info is right'
