/**
 * What the value of a variable is for the programs that look at it: `script` is run, `head` is run with further words behind it, `function` is
 * the body of one, `file` names a file of commands, `text` is a command of a program such as git.
 */
export function programVariable(name: string): 'script' | 'head' | 'function' | 'file' | 'text' | undefined {
  if (name === 'PROMPT_COMMAND') return 'script'
  if (name === 'BASH_ALIASES' || name === 'BASH_CMDS') return 'head'
  if (name.startsWith('BASH_FUNC_')) return 'function'
  if (name === 'BASH_ENV' || name === 'ENV') return 'file'
  return naming.test(name) ? 'text' : undefined
}
const naming = /^((\w+_)?(PAGER|EDITOR|VISUAL|ASKPASS|BROWSER)|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_CONFIG_VALUE_\d+|FCEDIT|RSYNC_RSH)$/
