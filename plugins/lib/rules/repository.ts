import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Workspace } from '../../../core/workspace/index.js'

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

/** The one hook that looking can start: by putting the index on disk anew. */
export const hooksOfLooking = ['post-index-change']

/** Why git would start programs of the repository's choice in this folder; `undefined` when nothing there names one. Hooks: those that count. */
export async function configuredPrograms(folder: string, workspace: Workspace, hooks?: string[]): Promise<string | undefined> {
  for (let at = clean(folder); ; at = parent(at)) {
    if ((await kind(workspace, below(at, 'HEAD'))) && (await kind(workspace, below(at, 'objects')))) return 'the folder itself is a repository'
    const git = below(at, '.git')
    const found = await kind(workspace, git)
    if (found === 'directory') return (await program(git, workspace)) ?? (await beside(git, workspace)) ?? (await hook(git, workspace, hooks))
    if (found) return 'its repository lies elsewhere'
    if (at === '.') return above(workspace.root) ? 'its repository lies above the workspace' : undefined
  }
}

/** Whether git, finding no repository in the workspace, would find one above it. */
function above(root: string): boolean {
  const parent = dirname(root)
  return parent !== root && (existsSync(join(parent, '.git')) || above(parent))
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

/** What makes git look for configuration in a further place: a common folder, and each repository in the repository. */
async function beside(git: string, workspace: Workspace): Promise<string | undefined> {
  const names = (await workspace.names(git)).map(({ name }) => name)
  if (names.includes('commondir')) return 'its repository shares the folder of another'
  if (names.some((name) => name.startsWith('sharedindex.'))) return 'the index of the repository is in several files'
  if (!names.includes('index')) return undefined
  const index = await workspace.read(`${git}/index`).catch(() => undefined)
  return index && readable(index) ? undefined : 'the repository has others inside, or an index that cannot be read'
}

/** The modes of a repository inside, and of a folder that stands for all files below it: each in four bytes. */
const elsewhere = [Buffer.from([0, 0, 0xe0, 0]), Buffer.from([0, 0, 0x40, 0])]
// Entries of format 2 and 3 begin at 12 and are padded to eight bytes; the mode is 24 bytes behind that. A user's number may look like it: then we ask.
function readable(index: Buffer): boolean {
  if (index.length < 12 || index.readUInt32BE(4) > 3) return false
  return elsewhere.every((mode) => {
    for (let at = index.indexOf(mode, 36); at !== -1; at = index.indexOf(mode, at + 1)) if (at % 8 === 4) return false
    return true
  })
}

async function hook(git: string, workspace: Workspace, counted?: string[]): Promise<string | undefined> {
  const names = await workspace.names(`${git}/hooks`).catch(() => [])
  const own = names.find(({ name }) => !name.endsWith('.sample') && (!counted || counted.includes(name)))
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
