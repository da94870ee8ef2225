// Made by `make generated` from completions/; do not edit it.

extension CompletionScript {
  /// The files of completions/ by shell.
  static let files: [(shell: String, text: String)] = [
    (
      "bash",
      #"""
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

      """#
    ),
    (
      "fish",
      #"""
      # Completion of gqlrun for fish. `gqlrun complete` prints what can follow; fish completes file names.
      function __gqlrun_offers
          gqlrun complete -- (commandline -cp | string collect) 2>/dev/null
      end
      complete -c gqlrun -f
      complete -c gqlrun -n '__gqlrun_offers | string match -q ":files*"' -F
      complete -c gqlrun -n '__gqlrun_offers | string match -q ":folders"' -a '(__fish_complete_directories)'
      complete -c gqlrun -a '(__gqlrun_offers | string match -v ":*")'

      """#
    ),
    (
      "zsh",
      #"""
      #compdef gqlrun
      # Completion of gqlrun for zsh. `gqlrun complete` prints what can follow; zsh completes file names.
      _gqlrun() {
        local offer files prefix
        local -a words_offered open_offered
        while IFS= read -r offer; do
          case $offer in
            :files*) files=_files prefix=${offer#:files } ;;
            :folders) files='_files -/' ;;
            *)
              local name=${offer%%$'\t'*} about=
              [[ $offer == *$'\t'* ]] && about=:${offer#*$'\t'}
              if [[ $name == *[:=] ]]; then
                open_offered+=("${name//:/\\:}$about")
              else
                words_offered+=("${name//:/\\:}$about")
              fi
              ;;
          esac
        done < <(${(Q)~words[1]} complete -- "${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null)
        (( $#words_offered )) && _describe -t values gqlrun words_offered
        (( $#open_offered )) && _describe -t values gqlrun open_offered -S ''
        if [[ -n $files ]]; then
          [[ -n $prefix ]] && compset -P "${(b)prefix}"
          ${=files}
        fi
        return 0
      }
      _gqlrun "$@"

      """#
    ),
  ]
}
