# shellcheck shell=bash disable=SC2034
# common.sh: what the tests of the choir command share. Sets $choir and a private working folder.
set -euo pipefail
choir=$(realpath "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(readlink -f "$here/../../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# The tester's own settings and launcher must not decide.
for variable in $(compgen -e | grep -E '^(CHOIR_|OMPI_COMM|PMI_|PMIX_|HYDI_|SLURM_|LD_PRELOAD)' || true); do unset "$variable"; done
export XDG_CACHE_HOME=$work/cache

fail() { echo "FAILED: $*" >&2; exit 1; }
# refuses TEXT ARGUMENTS...: choir exits with 2 and says TEXT.
refuses() {
  local text=$1 code=0
  shift
  "$choir" "$@" > out 2>&1 || code=$?
  [ "$code" = 2 ] || fail "'choir $*' exits with $code, not 2: $(cat out)"
  grep -qF -- "$text" out || fail "'choir $*' does not say '$text' but: $(cat out)"
}
# says TEXT ARGUMENTS...: choir exits with 0 and says TEXT.
says() {
  local text=$1
  shift
  "$choir" "$@" > out 2>&1 || fail "'choir $*' exits with $?: $(cat out)"
  grep -qF -- "$text" out || fail "'choir $*' does not say '$text' but: $(cat out)"
}
