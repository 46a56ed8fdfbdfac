// Completion scripts for three shells, without further dependencies. Words are passed to the program unchanged, never
// through eval. If the program has no candidates, the shell completes file names.

const bash = `# bash completion for platform
_platform_complete() {
  local word description
  COMPREPLY=()
  while IFS=$'\\t' read -r word description; do
    [[ $word == :* ]] || COMPREPLY+=("$word")
  done < <(platform complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _platform_complete platform
`;

const zsh = `#compdef platform
# zsh completion for platform
_platform() {
  local line
  local -a offered
  for line in "\${(@f)$(platform complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line || $line == :* ]] || offered+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  compset -P '-*='
  if (( $#offered )); then _describe -V platform offered; else _files; fi
}
if [[ $funcstack[1] == _platform ]]; then _platform "$@"; else compdef _platform platform; fi
`;

const fish = `# fish completion for platform
function __platform_offer
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l flag (string match -r -- '^-[^=]*=' "$word")
    set -l offered (platform complete -- $before[2..-1] "$word" 2>/dev/null | string match -rv '^(:|$)')
    if test (count $offered) -gt 0
        for one in $offered
            printf '%s%s\\n' "$flag" "$one"
        end
    else
        __fish_complete_path "$word"
    end
end
complete -c platform -e
complete -c platform -f -a '(__platform_offer)'
`;

/** Scripts by the name of the shell. */
export const shellCompletion: Readonly<Record<string, string>> = { bash, zsh, fish };
