# choir.bash: completion of the choir command for bash.
_choir_strategies() {
  echo auto
  "$1" info 2>/dev/null | sed -n '/^Strategies/,/^$/s/^  \([a-z_0-9]*\) .*/\1/p' | grep -vx auto
}

# What a tool's own help says: choir_options CHOIR TOOL...
_choir_options() { "$@" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u; }
_choir_workloads() { "$1" bench --list 2>/dev/null | sed -n '/^contenders/d;s/^\([a-z0-9-]*\) .*/\1/p'; }
_choir_contenders() { "$1" bench --list 2>/dev/null | sed -n 's/^contenders: //p' | tr -d ,; }

# The words after the program belong to the program.
_choir_run() {
  local i word program=0
  for ((i = 2; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      --strategy | --trace | --config | --mpi | --clock) ((i++)) ;;
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
    --trace | --clock) COMPREPLY=($(compgen -d -- "$cur")) ;;
    --config) COMPREPLY=($(compgen -f -- "$cur")) ;;
    --mpi) COMPREPLY=($(compgen -W 'mpich openmpi' -- "$cur")) ;;
    *)
      if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '--strategy --stats --trace --config --mpi --native --clock --verbose --help --version' -- "$cur"))
      else
        COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))
      fi ;;
  esac
}

_choir_bench() {
  local choir=${COMP_WORDS[0]}
  if [[ ${COMP_WORDS[2]} == compare && $COMP_CWORD -gt 2 ]]; then
    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$(_choir_options "$choir" bench compare)" -- "$cur"))
    else COMPREPLY=($(compgen -f -- "$cur")); fi
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_choir_options "$choir" bench)" -- "$cur"))
  else
    case $prev in
      --contenders) COMPREPLY=($(compgen -W "$(_choir_contenders "$choir")" -- "$cur")) ;;
      --dir) COMPREPLY=($(compgen -d -- "$cur")) ;;
      --json) COMPREPLY=($(compgen -f -- "$cur")) ;;
      *) COMPREPLY=($(compgen -W "compare all $(_choir_workloads "$choir")" -- "$cur")) ;;
    esac
  fi
}

_choir() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    local commands='run info assign bench compare explain iobench measure memory model netbench place report'
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run) _choir_run ;;
    info) COMPREPLY=($(compgen -W '--json --help --version' -- "$cur")) ;;
    memory) ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W 'list forget --help' -- "$cur")) ;;
    bench) _choir_bench ;;
    *)
      if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(_choir_options "${COMP_WORDS[0]}" "${COMP_WORDS[1]}")" -- "$cur"))
      else
        COMPREPLY=($(compgen -f -- "$cur"))
      fi ;;
  esac
}
complete -o filenames -F _choir choir
