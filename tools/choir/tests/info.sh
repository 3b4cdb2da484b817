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
CHOIR_PLUGINS=./missing.so says 'plug-in ./missing.so: ' info

# Every setting is in the manual.
/usr/bin/python3 - "$root/man/choir.toml.5" <<'P' || fail "choir.toml(5) is not complete"
import json, sys
manual = open(sys.argv[1]).read().replace("\\-", "-")
missing = [row["key"] for row in json.load(open("info.json"))["settings"] if ".B " + row["key"] + "\n" not in manual]
assert not missing, missing
P
echo 'info is right'
