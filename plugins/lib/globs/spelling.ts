import { expandBraces, findGlobFault } from './glob.js'

/** The directory that globs are relative to. */
export interface GlobSite {
  /** Absolute path of the workspace. */
  root: string
  /** Path of the walked directory in the workspace. */
  base: string
  /** A glob that names a folder selects everything in it. */
  includesFolders: boolean
  /** Returns the kind of an entry below the walked directory; `undefined` without one. */
  findKind(path: string): Promise<string | undefined>
}

/** Splits a list of globs in one text: `*.ts,*.tsx`. The text stays too, because a name may have a comma. */
export function splitGlobs(globs: readonly string[]): string[] {
  return globs.flatMap((glob) => {
    if (!glob.includes(',')) return [glob]
    const parts = splitAtCommas(glob)
    return parts.length > 1 ? [glob, ...parts] : [glob, glob.replace(/\s*,\s*/g, ',')]
  })
}

function splitAtCommas(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const char of text) {
    if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    if (char === ',' && depth <= 0) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts.map((part) => part.trim()).filter(Boolean)
}

/**
 * Returns globs in a form that the engines match. Accepts `./src/**`, `src` and `src/` for a folder, an absolute path
 * in the workspace, a path that begins with the walked directory, and brackets or braces that are part of a name.
 */
export async function spellGlobs(globs: readonly string[], site: GlobSite): Promise<string[]> {
  const spelt: string[] = []
  for (const glob of splitGlobs(globs)) {
    const mark = glob.startsWith('!') ? '!' : ''
    const text = await toRelativeGlob(glob.slice(mark.length), site)
    const body = site.includesFolders ? text : text.replace(/(?<=.)\/$/, '')
    const forms = await listForms(body, site)
    const below = mark === '' ? await listFolderForms(body, forms, site) : []
    spelt.push(...[...forms, ...below].map((form) => mark + form))
  }
  return [...new Set(spelt)]
}

async function toRelativeGlob(glob: string, site: GlobSite): Promise<string> {
  const { root, base, findKind } = site
  const isAbsolute = glob === root || glob.startsWith(`${root}/`)
  const path = isAbsolute ? toBelowBase(glob.slice(root.length + 1), base) : glob
  // An absolute path with another folder matches nothing, and the answer names it.
  if (path === undefined) return glob
  const body = path.replace(/^(?:\.\/+)+/, '')
  const isAnchored = isAbsolute || body !== path
  if (body === '' || body === '.') return '**'
  const bare = body.replace(/^\//, '')
  if (isAnchored) return `/${bare}`
  const below = base === '.' ? undefined : toBelowBase(bare, base)
  if (below === undefined || (await findKind(base)) !== undefined) return body
  return below === '' ? '**' : `/${below}`
}

/** Returns a path of the workspace relative to the walked directory; `undefined` for a path that is not in it. */
function toBelowBase(path: string, base: string): string | undefined {
  if (base === '.') return path
  if (path === base) return ''
  return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined
}

/** More groups are read as globs, or all as names. */
const MAX_GROUPS = 3
/** A character class, or braces without alternatives. Both may be part of a name: `[id].tsx`, `users_{id}.yaml`. */
const GROUP = /\[[^\]/]*\]+|\{[^{},/]*\}/g

/** Lists the readings of a glob: each group of brackets or braces as a glob and as a part of a name. */
async function listForms(body: string, { findKind }: GlobSite): Promise<string[]> {
  const isName = /[[\]{}]/.test(body) && (await findKind(body.replace(/^\//, ''))) !== undefined
  const name = isName ? [escapeName(body)] : []
  const forms = await listReadings(body, findKind)
  return [...new Set([...name, ...forms.filter((form) => !isName || findGlobFault(form) === undefined)])]
}

const escapeName = (name: string): string => name.replace(/[[\]{}]/g, '\\$&')

async function listReadings(body: string, findKind: GlobSite['findKind']): Promise<string[]> {
  const groups = [...body.matchAll(GROUP)].filter(({ index }) => body[index - 1] !== '\\')
  if (groups.length === 0) return [body]
  const all = 2 ** groups.length - 1
  const choices = groups.length > MAX_GROUPS ? [0, all] : Array.from({ length: all + 1 }, (_, choice) => choice)
  const forms = choices.map((choice) => escapeGroups(body, groups, choice))
  if (findGlobFault(body) === undefined) return forms
  // A class that is invalid is a name only if there is an entry of this name.
  const name = body.replace(/^\//, '').replace(/\/[^[\]]*[*?][^[\]]*$/, '')
  return (await findKind(name)) === undefined ? [body] : forms.filter((form) => findGlobFault(form) === undefined)
}

function escapeGroups(body: string, groups: RegExpMatchArray[], choice: number): string {
  let at = -1
  const groupStarts = new Set(groups.map(({ index }) => index))
  return body.replace(GROUP, (text: string, start: number) => {
    if (!groupStarts.has(start)) return text
    at++
    return choice & (1 << at) ? escapeName(text) : text
  })
}

/** Names of braces that are looked up as folders. */
const MAX_FOLDERS = 16

/** Lists the globs of everything in the folder that a glob names. */
async function listFolderForms(
  body: string,
  forms: string[],
  { findKind, includesFolders }: GlobSite,
): Promise<string[]> {
  if (!includesFolders) return []
  if (body.endsWith('/')) return forms.map((form) => `${form}**`)
  if (/[*?\\]/.test(body)) return []
  const found: string[] = []
  const bare = body.replace(/^\//, '')
  for (const name of new Set([bare, ...expandBraces(bare).slice(0, MAX_FOLDERS)]))
    if ((await findKind(name)) === 'directory') found.push(`/${escapeName(name)}/**`)
  return found
}
