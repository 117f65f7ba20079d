import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { inside, isObject, VtError } from '../base/index.js'
import { readBytes } from '../documents/index.js'
import { addModule } from './closure.js'
import { folded, type FileSet } from './file_set.js'
import { fileWordsOf } from './words.js'

/** Folders in which a word of a command may begin: the workspace, that of the manifest, and each that is named. */
const MAX_FOLDERS = 50
/** Files that scripts of one item name, and how long a script may be that is searched for them. */
const MAX_NAMED = 100
const MAX_SCRIPT = 1_048_576

const module = /\.[cm]?[jt]sx?$/
/** Files that an interpreter runs; a name without an ending is often one. */
const script = /(?:\.(?:sh|bash|zsh|fish|py|rb|p[lm]|lua|php|ps1)|^[^.]+)$/
/** The endings that are left out where a file is named to an interpreter. */
const ending = /\.(?:[cm]?[jt]sx?|json|wasm|node|sh|py|rb|p[lm]|lua|php)$/
const inFolders = ['__init__.py', '__main__.py', 'index.js', 'index.mjs', 'index.cjs', 'index.ts', 'init.lua']

/** What programs read by themselves where they run; what of it is a script, or names one, is followed. */
const readUnasked: [programs: RegExp, files: string[], followed?: string[]][] = [
  [/^(?:p?npm|p?npx|yarn|bunx?)$/, ['.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml'], ['package.json', '.npmrc', '.pnpmfile.cjs', '.pnpmfile.mjs', 'bunfig.toml']],
  [/^(?:deno|tsx|ts-node)$/, ['deno.json', 'deno.jsonc', 'tsconfig.json']],
  [/^(?:g?make|just|task)$/, ['Makefile', 'makefile', 'GNUmakefile', 'justfile', 'Justfile', '.justfile', 'Taskfile.yml', 'Taskfile.yaml']],
  [/^(?:python|py|pytest|py\.test|uvx?|poetry|tox|nox|pip)$/, ['pyproject.toml', 'setup.cfg', 'tox.ini', 'pytest.ini', 'uv.toml'], ['setup.py', 'conftest.py', 'noxfile.py', 'sitecustomize.py', 'usercustomize.py']],
  [/^(?:cargo|go)$/, ['Cargo.toml', 'build.rs', '.cargo/config.toml', 'rust-toolchain.toml', 'go.mod', 'go.work']],
  [/^(?:ruby|bundle|rake|rspec|composer|php)$/, ['Gemfile', 'Rakefile', '.rspec', 'composer.json', '.user.ini']],
  [/^(?:gradlew?|mvnw?)$/, ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts', 'gradle.properties', 'pom.xml', '.mvn/maven.config', '.mvn/jvm.config']],
  [/^(?:docker|podman|docker-compose|podman-compose)$/, ['Dockerfile', 'Containerfile', 'compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml']],
]

/** The path that a name such as `package.module` or `Package::Module` stands for. */
const dottedPath = (place: string, word: string): string[] => (/^\w+(?:(?:\.|::)\w+)+$/.test(word) ? [resolve(place, word.replace(/\.|::/g, '/'))] : [])

/** A text that may name a file, with what its first name may be; none where it begins elsewhere. */
interface Word {
  text: string
  first: string[]
}
function wordOf(text: string): Word {
  const [name = ''] = text.split('/', 1)
  if (name === '' || name === '.' || name === '..') return { text, first: [] }
  return { text, first: [...new Set([name, name.split(/\.|::/, 1)[0]!].map(folded))] }
}

/** The files that the programs of one item are started with, as they are found. */
export class Started {
  readonly #places: Set<string>
  readonly #followed = new Map<string, string[]>()
  readonly #words = new Map<string, Word[]>()

  /** `starting` are the texts that say what runs: each folder that they name is one in which a word may begin. */
  constructor(
    private readonly set: FileSet,
    places: readonly string[],
    starting: ReadonlySet<string>,
  ) {
    this.#places = new Set(this.#within(new Set(places), [...starting].flatMap((text) => this.#wordsIn(text))))
  }

  #wordsIn(text: string): Word[] {
    const words = this.#words.get(text) ?? [...fileWordsOf(text)].map(wordOf)
    this.#words.set(text, words)
    return words
  }

  /** Whether a word may lead anywhere from a folder, by the names in it. */
  #leads(place: string, { first }: Word): boolean {
    return first.length === 0 || first.some((name) => this.set.holds(place, name))
  }

  /** These places with each folder that a word names from one of them. */
  #within(places: Set<string>, words: readonly Word[]): string[] {
    for (const word of words) {
      for (const place of [...places].filter((one) => this.#leads(one, word))) {
        for (const path of [this.#placed(place, word.text), ...dottedPath(place, word.text)]) if (places.size < MAX_FOLDERS && this.#kindOf(path) === 'folder') places.add(path)
      }
    }
    return [...places]
  }

  /** Adds what a text names; of one that says what runs, folders too, and what its programs read unasked. Names of what is not covered begin with `!`. */
  taken(text: string, starts: boolean): string[] {
    const words = this.#wordsIn(text)
    const places = [...this.#places]
    if (!starts) return [...new Set(words.flatMap((word) => places.filter((place) => this.#leads(place, word)).flatMap((place) => this.#take(this.#placed(place, word.text), false))))]
    const named = words.flatMap((word) => places.flatMap((place) => this.#pathsOf(place, word, true).flatMap((path) => this.#take(path, true))))
    const programs = words.flatMap(({ text }) => [basename(text), basename(text).replace(/[\d.]+$/, '')])
    const unasked = readUnasked.filter(([program]) => programs.some((name) => program.test(name)))
    const read = unasked.flatMap(([, files, followed = []]) => places.flatMap((place) => [...files, ...followed].flatMap((name) => this.#takeUnasked(join(place, name), followed.includes(name)))))
    return [...new Set([...named, ...read])]
  }

  /** Where a word may lead from a folder: to what it names, to what interpreters make of a name without its ending, to a program of packages. */
  #pathsOf(place: string, { text: word, ...rest }: Word, starts: boolean): string[] {
    const binary = starts && !word.includes('/') && this.set.holds(place, 'node_modules') ? [join(place, 'node_modules/.bin', word)].filter((one) => this.set.isListed(one)) : []
    if (!this.#leads(place, { text: word, ...rest })) return binary
    const path = this.#placed(place, word)
    if (!inside(this.set.root, path)) return []
    const dotted = dottedPath(place, word)
    const without = [path, ...dotted].flatMap((one) => this.set.listedLike(one).filter((other) => ending.test(other)))
    const within = starts ? [] : [path, ...dotted].filter((one) => this.#kindOf(one) === 'folder').flatMap((folder) => inFolders.map((name) => join(folder, name)))
    return [...[path, ...(starts ? dotted : []), ...without, ...within].filter((one) => this.set.isListed(one)), ...binary]
  }

  /** Adds what lies at a path. Answers the names of what is covered by it, and of what cannot be. */
  #take(path: string, starts: boolean): string[] {
    if (!inside(this.set.root, path) || path === this.set.root || !this.set.isListed(path)) return []
    const name = relative(this.set.root, path)
    return this.#unless(name, () => {
      const what = this.set.kindOf(path)
      if (what === 'folder') return starts ? this.#takeFolder(path, name) : []
      if (what !== 'file') return []
      const real = this.set.file(path)!
      return [name, ...(starts || module.test(real) ? this.#follow(path, real) : [])]
    })
  }

  /** A folder counts whole; what its interpreter begins with may name files beside it. */
  #takeFolder(path: string, name: string): string[] {
    if (this.set.namedFolder(path) === undefined) return [`!${name} (too large)`]
    return [`${name}/`, ...inFolders.flatMap((file) => this.#takeUnasked(join(path, file), true).filter((one) => one.startsWith('!')))]
  }

  #takeUnasked(path: string, follow: boolean): string[] {
    if (!inside(this.set.root, path) || !this.set.isListed(path)) return []
    const name = relative(this.set.root, path)
    return this.#unless(name, () => {
      const real = this.set.file(path)
      return real === undefined ? [] : [name, ...(follow ? this.#follow(path, real) : [])]
    })
  }

  /** Adds what a file that runs names: a module what it imports beside it, a script every file whose name stands in it. Answers what is not covered. */
  #follow(path: string, real: string): string[] {
    const known = this.#followed.get(real)
    if (known) return known
    const left: string[] = []
    this.#followed.set(real, left)
    const name = relative(this.set.root, path)
    if (statSync(real).size > MAX_SCRIPT) left.push(`!what ${name} names, which is too long to be searched`)
    else if (module.test(real)) left.push(...(addModule(this.set, path, { packages: false }).length > 0 ? [`!packages that ${name} imports`] : []))
    else left.push(...this.#named(real, dirname(path)))
    return left
  }

  #named(real: string, folder: string): string[] {
    const bytes = readBytes(real, { limit: MAX_SCRIPT })
    if (bytes.subarray(0, 8192).includes(0)) return []
    const text = basename(real) === 'package.json' ? scriptsIn(bytes.toString()) : bytes.toString()
    const words = this.#wordsIn(text)
    const places = this.#within(new Set([folder, dirname(real), ...this.#places]), words)
    return words.flatMap((word) => places.flatMap((place) => this.#pathsOf(place, word, false)).flatMap((path) => this.#takeNamed(path)))
  }

  #takeNamed(path: string): string[] {
    const name = relative(this.set.root, path)
    return this.#unless(name, () => {
      if (this.set.kindOf(path) !== 'file') return []
      if (this.#followed.size > MAX_NAMED) return [`!more than ${MAX_NAMED} files that scripts name`]
      const real = this.set.file(path)!
      if (module.test(real) || script.test(basename(real))) return this.#follow(path, real).filter((one) => one.startsWith('!'))
      this.#followed.set(real, [])
      return []
    })
  }

  #unless(name: string, take: () => string[]): string[] {
    try {
      return take()
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      return [`!${name}`]
    }
  }

  #kindOf(path: string): 'file' | 'folder' | undefined {
    if (!inside(this.set.root, path) || !this.set.isListed(path)) return undefined
    try {
      return this.set.kindOf(path)
    } catch {
      return undefined
    }
  }

  /** A word from a folder as the system takes it: `..` behind a link is the folder above where the link leads. */
  #placed(place: string, word: string): string {
    if (!word.includes('..')) return resolve(place, word)
    let at = word.startsWith('/') ? '/' : place
    for (const name of word.split('/')) {
      if (name === '..') at = dirname(this.#realOf(at))
      else if (name !== '' && name !== '.') at = join(at, name)
    }
    return at
  }
  #realOf(path: string): string {
    try {
      // A link on the way counts: where it leads decides what is found.
      if (inside(this.set.root, path)) this.set.file(path)
      return realpathSync(path)
    } catch {
      return path
    }
  }
}

/** The commands of a `package.json`; its other members name what is built and published. */
function scriptsIn(text: string): string {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    return isObject(scripts) ? Object.values(scripts).filter((one) => typeof one === 'string').join('\n') : ''
  } catch {
    return ''
  }
}
