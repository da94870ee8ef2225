# Completion of gqlrun for bash. `gqlrun complete` prints what can follow; bash completes file names.
_gqlrun() {
  local line=${COMP_LINE:0:COMP_POINT} offer files= typed head
  # bash replaces only the text after the last character of COMP_WORDBREAKS, such as the colon of sqlite:PATH.
  typed=${line##*[[:space:]]}
  head=${typed%"$2"}
  [[ $head == "$typed" && -n $2 ]] && head=
  COMPREPLY=()
  while IFS= read -r offer; do
    case $offer in
      :files*) files=1 ;;
      :folders) compopt -o dirnames ;;
      *)
        offer=${offer%%$'\t'*}
        COMPREPLY+=("${offer#"$head"}")
        ;;
    esac
  done < <("${1/#~\//$HOME/}" complete -- "$line" 2>/dev/null)
  if [[ -n $files && ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o bashdefault -o default
  elif [[ -n $files ]]; then
    while IFS= read -r offer; do
      compopt -o filenames
      COMPREPLY+=("$offer")
    done < <(compgen -f -- "$2")
  fi
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=] ]]; then compopt -o nospace; fi
}
complete -F _gqlrun gqlrun
