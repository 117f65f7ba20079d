import { readSettings } from '../git/index.js'

/**
 * Settings that make a commit the user's own; none names a program, a server or a login. A user who signs commits
 * never gets unsigned ones.
 */
const CARRIED_KEYS = new Set(
  `
  user.name user.email author.name author.email committer.name committer.email user.useconfigonly user.signingkey
  commit.gpgsign tag.gpgsign gpg.format
  init.defaultbranch core.autocrlf core.eol core.safecrlf core.quotepath pull.rebase pull.ff merge.ff
  merge.conflictstyle rebase.autostash rebase.autosquash
  diff.algorithm diff.renames safe.directory
`
    .trim()
    .split(/\s+/),
)
const MAX_CHARACTERS = 16_384

/** Returns the lines of the user's git configuration that commands in the sandbox get; may be empty. */
export async function readUserGitConfig(folder: string, workspace: string): Promise<string> {
  const lines = (await readSettings(folder, workspace))
    .filter(({ scope, key }) => scope === 'global' && CARRIED_KEYS.has(key))
    .map(({ key, value }) => formatSetting(key, value))
  const text = lines.join('\n')
  return text.length > MAX_CHARACTERS ? '' : text
}

/** Formats one setting with its section. */
function formatSetting(key: string, value: string): string {
  const dot = key.indexOf('.')
  const quoted = value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
  return `[${key.slice(0, dot)}] ${key.slice(dot + 1)} = "${quoted}"`
}
