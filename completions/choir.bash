# choir.bash: completion of the choir command for bash.
_choir_strategies() {
  echo auto
  "$1" info 2>/dev/null | sed -n '/^Strategies/,/^$/s/^  \([a-z_0-9]*\) .*/\1/p' | grep -vx auto
}

# The words after the program belong to the program.
_choir_run() {
  local i word program=0
  for ((i = 2; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      --strategy | --trace | --config | --mpi) ((i++)) ;;
      -*) ;;
      *) program=$i; break ;;
    esac
  done
  if ((program > 0)); then
    COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  case $prev in
    --strategy) COMPREPLY=($(compgen -W "$(_choir_strategies "${COMP_WORDS[0]}")" -- "$cur")) ;;
    --trace) COMPREPLY=($(compgen -d -- "$cur")) ;;
    --config) COMPREPLY=($(compgen -f -- "$cur")) ;;
    --mpi) COMPREPLY=($(compgen -W 'mpich openmpi' -- "$cur")) ;;
    *)
      if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '--strategy --stats --trace --config --mpi --verbose --help' -- "$cur"))
      else
        COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))
      fi ;;
  esac
}

_choir() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    local commands='run info assign bench explain iobench memory model netbench place report'
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run) _choir_run ;;
    info) COMPREPLY=($(compgen -W '--json --help' -- "$cur")) ;;
    memory) ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W 'list forget --help' -- "$cur")) ;;
    bench)
      if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '--list --set --contenders --repeat --warmup --bytes-per-rank --piece --json --plain --help' -- "$cur"))
      else
        COMPREPLY=($(compgen -W 'compare all' -- "$cur") $(compgen -f -- "$cur"))
      fi ;;
    explain | report) COMPREPLY=($(compgen -f -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _choir choir
