import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inside, isObject, requireLibrary, type JsonObject } from '../base/index.js'
import { readBytes } from '../documents/index.js'
import type { FileSet } from './file_set.js'
import { refuse } from './tree.js'
import { unescaped } from './words.js'

const MAX_FILES = 100
const MAX_PACKAGES = 1_000
/** What is longer names no file. */
const MAX_PATH = 4096
/** A module's text that is searched for imports. */
const MAX_SOURCE = 16 * 1_048_576
const code = /\.[cm]?[jt]sx?$/
const endings = ['.ts', '.mts', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js', '/index.mjs', '/index.cjs']

let lexing: typeof import('es-module-lexer') | undefined

/** Needed only where a workspace brings modules; what is agreed to is found without waiting. */
function lexer(): typeof import('es-module-lexer') {
  if (lexing) return lexing
  lexing = requireLibrary('es-module-lexer') as typeof import('es-module-lexer')
  lexing.initSync()
  return lexing
}

/**
 * Adds a module with everything that its text says it loads: relative imports and `require`, files beside it whose names stand in its
 * text, `#` imports, packages whole with what they depend on, and the `package.json` that decides how each is read. What is left out here
 * is not among the agreed files, so the module does not find it. Answers the names of packages. Over 100 files throws VT_MANIFEST_LIMIT.
 */
export function addModule(set: FileSet, entry: string, { packages = true }: { packages?: boolean } = {}): string[] {
  const closure = new Closure(set, entry, packages)
  for (const target of candidates(set, entry)) closure.visit(target)
  return [...closure.packages]
}

class Closure {
  readonly packages = new Set<string>()
  readonly #seen = new Set<string>()
  readonly #scopes = new Map<string, Scope | undefined>()
  #names = 0
  constructor(
    private readonly set: FileSet,
    private readonly entry: string,
    /** Whether the packages that it names belong to it. */
    private readonly whole: boolean,
  ) {}

  visit(path: string): void {
    if (!inside(this.set.root, path)) return
    const file = this.set.named(path)
    if (this.#seen.has(file ?? path)) return
    this.#seen.add(file ?? path)
    if (++this.#names > MAX_FILES) throw refuse(`${this.entry} imports more than ${MAX_FILES} files.`, this.entry)
    if (file === undefined) return
    const scope = this.#scopeOf(file)
    if (!code.test(file)) return
    const text = readBytes(file, { limit: MAX_SOURCE }).toString('utf8')
    const { imported, literals } = spelledIn(text)
    for (const name of imported) if (name.length < MAX_PATH) this.#follow(name, file, scope)
    for (const name of literals) {
      const target = resolve(dirname(file), name)
      if (this.set.isListed(target) && this.set.kindOf(target) === 'file') this.visit(target)
    }
  }

  /** A specifier, resolved as Node does: queries, fragments and escapes are those of an URL. */
  #follow(name: string, file: string, scope: Scope | undefined): void {
    if (isBuiltin(name) || name.startsWith('data:')) return
    if (/^(?:\.{0,2}\/|\.{1,2}$|file:)/.test(name)) {
      const target = placeOf(name, file)
      if (target !== undefined) for (const one of candidates(this.set, target)) this.visit(one)
      return
    }
    if (name.startsWith('#')) return this.#mapped(scope, scope?.document['imports'], name)
    const [first = '', second = ''] = name.split('/')
    const owner = first.startsWith('@') ? `${first}/${second}` : first
    if (this.packages.add(name).size > MAX_PACKAGES) throw refuse(`${this.entry} imports more than ${MAX_PACKAGES} packages.`, this.entry)
    // Our own name is this program, whatever the workspace has under it.
    if (owner === 'vtcode' || !this.whole) return
    if (scope?.document['name'] === owner) this.#mapped(scope, scope.document['exports'], `.${name.slice(owner.length)}`)
    else this.#package(owner, dirname(file))
  }

  /** Every target that a map of a `package.json` could mean for a name. */
  #mapped(scope: Scope | undefined, map: unknown, name: string): void {
    if (!scope) return
    for (const [key, targets] of Object.entries(isObject(map) ? map : { '.': map })) {
      const [head = '', tail] = key.split('*')
      const fits = tail === undefined ? key === name || !key.startsWith(name[0]!) : name.startsWith(head) && name.endsWith(tail)
      if (!fits) continue
      const star = tail === undefined ? '' : name.slice(head.length, name.length - tail.length)
      for (const target of textsIn(targets)) {
        const filled = target.replaceAll('*', star)
        if (filled.startsWith('.')) for (const one of candidates(this.set, join(scope.folder, filled))) this.visit(one)
        else this.#follow(filled, join(scope.folder, 'package.json'), undefined)
      }
    }
  }

  /** The folder of a package of the workspace, and those of the packages it depends on. */
  #package(name: string, from: string): void {
    for (let folder = from; inside(this.set.root, folder); folder = dirname(folder)) {
      const place = join(folder, 'node_modules', name)
      if (this.set.kindOf(place) === 'folder') {
        const real = this.set.folder(place)!
        if (this.#seen.has(real)) return
        this.#seen.add(real)
        const document = documentAt(join(real, 'package.json'))
        for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies']) {
          for (const other of Object.keys(Object(document?.[key]) as object)) this.#package(other, real)
        }
        return
      }
      if (folder === this.set.root) return
    }
  }

  /** The nearest `package.json` says whether `.js` is a module, and what `#` names mean. */
  #scopeOf(file: string): Scope | undefined {
    const folder = dirname(file)
    if (!inside(this.set.root, folder)) return undefined
    if (!this.#scopes.has(folder)) this.#scopes.set(folder, this.#scopeIn(folder))
    return this.#scopes.get(folder)
  }
  #scopeIn(folder: string): Scope | undefined {
    const found = this.set.kindOf(join(folder, 'package.json')) === 'file' ? this.set.file(join(folder, 'package.json')) : undefined
    if (found !== undefined) return { folder, document: documentAt(found) ?? {} }
    return folder === this.set.root ? undefined : this.#scopeOf(folder)
  }
}

interface Scope {
  folder: string
  document: JsonObject
}

function documentAt(file: string): JsonObject | undefined {
  try {
    const value = JSON.parse(readBytes(file, { limit: MAX_SOURCE }).toString('utf8')) as unknown
    return isObject(value) ? value : undefined
  } catch {
    // Node refuses it too.
    return undefined
  }
}

function placeOf(name: string, file: string): string | undefined {
  try {
    return fileURLToPath(new URL(name, pathToFileURL(file)))
  } catch {
    return undefined
  }
}

const textsIn = (value: unknown): string[] => (typeof value === 'string' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [])

/** The name itself, and the files that loaders take for it. */
function candidates(set: FileSet, path: string): string[] {
  const ends = /\.\w+$/.test(path) ? [] : endings
  const others = /\.[cm]?js$/.test(path) ? [path.replace(/js$/, 'ts')] : ends.map((end) => path + end)
  const inFolder = set.kindOf(path) === 'folder' ? mainOf(join(path, 'package.json')) : []
  return [path, ...[...others, ...inFolder].filter((other) => set.kindOf(other) === 'file')]
}

function mainOf(file: string): string[] {
  const { main } = documentAt(file) ?? {}
  return typeof main === 'string' ? [file, join(dirname(file), main)] : []
}

const typeOnly = /^(?:import|export)\s+type\s*(?:\{|\*|[\w$]+\s+from\b)/
const required = /\brequire(?:\s*\.\s*resolve)?\s*\(\s*(['"`])([^'"`\n]+)\1/g
// One without an end goes to the end, so that no text is searched anew from each of its beginnings.
const comment = /\/\*[^]*?(?:\*\/|$)|\/\/[^\n]*/g

/** What a module imports, types left out, and every other text in it that could be the name of a file. */
function spelledIn(text: string): { imported: Set<string>; literals: Set<string> } {
  const imported = new Set<string>()
  const types: [from: number, to: number][] = []
  try {
    const [imports] = lexer().parse(text)
    for (const { n, ss, se } of imports) {
      if (typeOnly.test(text.slice(ss, se).replace(comment, ' '))) types.push([ss, se])
      else if (n !== undefined) imported.add(n)
    }
  } catch {
    // It is no module that the lexer reads; its texts are still looked at.
  }
  for (const [, , name] of text.matchAll(required)) imported.add(unescaped(name!))
  return { imported, literals: literalsIn(text, types) }
}

/** Each text between quotes outside of these stretches, which stand in their order. */
function literalsIn(text: string, types: readonly [from: number, to: number][]): Set<string> {
  const raw = new Set<string>()
  // Where the next quote of each kind stands.
  const ends: Record<string, number> = {}
  for (let at = 0, type = 0; at < text.length; at++) {
    const quote = text[at]!
    if (quote !== "'" && quote !== '"' && quote !== '`') continue
    if ((ends[quote] ?? 0) <= at) ends[quote] = text.indexOf(quote, at + 1)
    const end = ends[quote]!
    while (types[type] && types[type]![1] <= at) type++
    if (end >= 0 && end - at <= 300 && !(types[type] && types[type]![0] < at)) raw.add(text.slice(at + 1, end))
    if (end < 0) ends[quote] = Infinity
  }
  const literals = [...raw].map(unescaped).filter((literal) => literal !== '' && !literal.includes('\n'))
  return new Set(literals.map((literal) => literal.replace(/[?#].*$/, '')))
}
