import type { Workspace } from '../../../core/index.js'

const oneOf = (words: string): RegExp => new RegExp(`^(${words.split(/\s+/).join('|')})$`)

// What a repository may say without anything of it being started. All else (fsmonitor, hooksPath, textconv, filters, aliases,
// included files, whatever git learns next) may be a program.
const quiet: Record<string, RegExp> = {
  core: oneOf(`repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev
    compression whitespace sharedrepository untrackedcache preloadindex longpaths protectntfs protecthfs`),
  remote: /^(url|pushurl|fetch|prune|tagopt|promisor|partialclonefilter)$/,
  branch: /^(remote|merge|rebase|description|pushremote)$/,
  submodule: /^(url|active|branch|path|ignore)$/,
  user: /^(name|email|useconfigonly)$/,
  init: /^defaultbranch$/,
  pull: /^(rebase|ff)$/,
  push: /^(default|autosetupremote|followtags)$/,
  fetch: /^(prune|prunetags|parallel)$/,
  color: /^/,
  log: /^(date|decorate|abbrevcommit|follow)$/,
  status: /^/,
  index: /^(version|threads|sparse)$/,
  feature: /^/,
  gc: /^(auto|autodetach|pruneexpire)$/,
  rerere: /^(enabled|autoupdate)$/,
  extensions: /^(worktreeconfig|objectformat|partialclone|refstorage)$/,
  advice: /^/,
}

/** Why git would start programs of the repository's choice in this folder; `undefined` when nothing there names one. */
export async function configured(folder: string, workspace: Workspace): Promise<string | undefined> {
  for (let at = clean(folder); ; at = parent(at)) {
    if ((await kind(workspace, below(at, 'HEAD'))) && (await kind(workspace, below(at, 'objects')))) return 'the folder itself is a repository'
    const git = below(at, '.git')
    const found = await kind(workspace, git)
    if (found === 'directory') return (await program(git, workspace)) ?? (await hook(git, workspace))
    if (found) return 'its repository lies elsewhere'
    if (at === '.') return undefined
  }
}

async function program(git: string, workspace: Workspace): Promise<string | undefined> {
  for (const file of ['config', 'config.worktree']) {
    if (!(await kind(workspace, `${git}/${file}`))) continue
    const text = await workspace.text(`${git}/${file}`, { max_bytes: 262_144 }).catch(() => undefined)
    const key = text === undefined ? 'it cannot be read' : loud(text)
    if (key) return `the repository's own ${file} says ${key}`
  }
  return undefined
}

async function hook(git: string, workspace: Workspace): Promise<string | undefined> {
  const names = await workspace.names(`${git}/hooks`).catch(() => [])
  const own = names.find(({ name }) => !name.endsWith('.sample'))
  return own && `the repository has a hook '${own.name}'`
}

/** The first key of a configuration file that is not known to be quiet. */
function loud(text: string): string | undefined {
  let section = ''
  for (const line of text.replace(/\\\r?\n/g, '').split('\n')) {
    const rest = line.trim()
    if (rest === '' || /^[#;]/.test(rest)) continue
    const [, name, behind] = /^\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](.*)$/.exec(rest) ?? []
    if (name !== undefined) section = name.toLowerCase().split('.')[0]!
    const assignment = name === undefined ? rest : behind!.trim()
    if (assignment === '' || /^[#;]/.test(assignment)) continue
    const [, key, value = ''] = /^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(assignment) ?? []
    if (key === undefined) return `'${assignment.slice(0, 40)}'`
    const known = Object.hasOwn(quiet, section) && quiet[section]!.test(key.toLowerCase())
    // `ext::` and addresses that look like flags start programs too.
    if (!known || /^"?(ext::|-)/.test(value)) return `${section}.${key}`
  }
  return undefined
}

const kind = async (workspace: Workspace, path: string) => (await workspace.stat(path).catch(() => undefined))?.kind
const below = (folder: string, name: string): string => (folder === '.' ? name : `${folder}/${name}`)
const parent = (folder: string): string => (folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '.')
const clean = (folder: string): string => folder.replace(/^(\.\/)+/, '').replace(/\/+$/, '') || '.'
