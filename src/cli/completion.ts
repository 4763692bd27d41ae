/**
 * What makes a shell complete the words of `rerunsafe`. The program itself is asked for what fits; the words go to it one by one, as they are typed: none is
 * ever evaluated, since `$(…)` on an unfinished line is no command to run yet.
 *
 * @module
 */
import { UsageError } from './usage-error.ts';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_rerunsafe() {
  local word=\${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    case $line in :*) ;; "$word"*) COMPREPLY+=("$line") ;; esac
  done < <(rerunsafe complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _rerunsafe rerunsafe`,
  zsh: `#compdef rerunsafe
_rerunsafe() {
  local line
  local -a items
  while IFS= read -r line; do
    [[ $line == :* ]] || items+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(rerunsafe complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#items )) && _describe rerunsafe items || _files
}
compdef _rerunsafe rerunsafe`,
  fish: `complete -c rerunsafe -a "(rerunsafe complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ':*')"`,
};

export const SHELLS: readonly string[] = Object.keys(SCRIPTS);

/** @throws UsageError for a shell that is not known. */
export function completionOf(shell: string | undefined): string {
  const script = shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError(`for which shell? rerunsafe complete ${SHELLS.join(' | ')}`);
  return script;
}
