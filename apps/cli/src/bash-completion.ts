/**
 * Completion for bash without anything beside bash. Words go to the program as they are, never through eval; where it knows
 * none, bash offers files.
 */
export const bashCompletion = `# bash completion for platform
_platform_complete() {
  local word description
  COMPREPLY=()
  while IFS=$'\\t' read -r word description; do
    [[ $word == :* ]] || COMPREPLY+=("$word")
  done < <(platform complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _platform_complete platform
`;
