import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { fileHash } from '../../../core/trust/index.js'
import {
  VtError,
  type Diagnostic,
  type JsonObject,
  type Manifest,
  type PackagePlace,
  type PackageReader,
  type PackageSkills,
} from '../../../core/index.js'
import { fill, isObject, sound } from './objects.js'
import { declared, exported, needsOf, type Needs } from './values.js'

const most = 500

/** What a package brings, and what of it nobody honours. */
export class Package {
  native?: ReturnType<PackageReader>['native']
  skills?: () => PackageSkills
  readonly manifests: { file: string; manifest: Manifest; read?: string }[] = []
  /** By file, the hash of what was read from it. */
  readonly #read = new Map<string, string>()
  readonly diagnostics: Diagnostic[] = []
  /** What the user is to say for it. */
  needs: Needs = needsOf(undefined)
  /** The variable under which its programs find a value of the user, where the format has one. */
  variable?: (key: string) => string
  constructor(
    readonly format: string,
    readonly place: PackagePlace,
  ) {}

  /** A part of it as a manifest that brings it. */
  addManifest(name: string, manifest: Manifest, file: string): void {
    if (!/^[^\p{Cc}\p{Cf}]{1,128}$/u.test(name)) {
      return this.invalid(
        `${file}: the name ${JSON.stringify(name.slice(0, 40))} is empty, over 128 characters long or holds what cannot be seen.`,
        file,
      )
    }
    const read = this.#read.get(file)
    this.manifests.push({
      file,
      manifest: { name, ...manifest, ...declared(this.needs) },
      ...(read !== undefined && { read }),
    })
  }
  /** The values of the user as variables. */
  exported(): JsonObject {
    return this.variable ? exported(this.needs, this.variable) : {}
  }
  invalid(problem: string, file: string): void {
    // Of a package of the user's it was shown when they agreed; a workspace's files are theirs to mend.
    const mendable = this.place.layer === 'workspace' || this.place.file !== undefined
    this.say(
      'VT_FORMAT_INVALID',
      mendable ? 'warning' : 'info',
      problem,
      'Fix the file that is named, or ask its author.',
      file,
    )
  }
  /** Each part that is there and not honoured, with how much of it there is, or what. */
  unsupported(parts: Record<string, number | readonly string[]>, file: string): void {
    for (const [part, values] of Object.entries(parts)) {
      const [count, names] =
        typeof values === 'number'
          ? [values, '']
          : [values.length, `: ${values.slice(0, 8).join(', ')}${values.length > 8 ? ' …' : ''}`]
      // It was shown when the user agreed to the package, and nobody can fix it.
      if (count > 0)
        this.say(
          'VT_FORMAT_UNSUPPORTED',
          'info',
          `${part} of the ${this.format} package ${this.place.plugin} (${count}${names}) are not honoured here.`,
          'The other parts work.',
          file,
        )
    }
  }
  /** Manifests for other programs, which say the same in other words. */
  alsoThere(paths: readonly string[]): void {
    const message = `It is read as a ${this.format} package; ${paths.join(', ')} ${paths.length === 1 ? 'is' : 'are'} there too and not read.`
    this.say(
      'VT_FORMAT_UNSUPPORTED',
      'info',
      message,
      'Nothing is lost where they say the same.',
      join(this.place.root, paths[0]!),
    )
  }
  /** What is no plugin and names some. */
  offers(message: string, file: string): void {
    this.say('VT_FORMAT_UNSUPPORTED', 'info', message, 'Nothing else of it is looked at.', file)
  }
  private say(code: string, severity: Diagnostic['severity'], message: string, hint: string, file: string): void {
    this.diagnostics.push({ code, severity, message, hint, files: [file] })
  }

  /** A JSON document of the package, or nothing and the reason among the diagnostics. A link out of the package is not followed. */
  read(path: string): JsonObject | undefined {
    const file = join(this.place.root, path)
    if (!existsSync(file)) return undefined
    try {
      if (!this.holds(path)) throw new Error('it is a link out of the package')
      const bytes = readBytes(file)
      this.#read.set(file, fileHash(bytes))
      const value = sound(JSON.parse(bytes.toString().replace(/^\ufeff/, '')))
      if (!isObject(value)) throw new Error('it is no object')
      return value
    } catch (error) {
      const { message } = error as Error
      this.invalid(error instanceof VtError ? message : `${file} cannot be used: ${message}.`, file)
      return undefined
    }
  }
  /** What a file of the package holds; a pipe, a device or a huge one is reported. */
  bytes(file: string, limit = 262_144): Buffer | undefined {
    try {
      return readBytes(file, { within: this.place.root, limit })
    } catch (error) {
      return void this.invalid((error as Error).message, file)
    }
  }
  /** The real path of what lies there and inside; nothing where nothing lies, and for a way out the reason among the diagnostics. */
  leads(path: string): string | undefined {
    const file = join(this.place.root, path)
    if (!existsSync(file)) return undefined
    if (this.holds(path)) return realpathSync(file)
    this.invalid(`${file} leads out of the package and is not looked into.`, file)
    return undefined
  }
  /** The real path of a folder there; one that is no folder is reported. */
  folder(path: string): string | undefined {
    const found = this.leads(path)
    if (found === undefined || statSync(found).isDirectory()) return found
    this.invalid(`${join(this.place.root, path)} is no folder.`, join(this.place.root, path))
    return undefined
  }
  /** The folders of the package in a text, filled in. */
  filled(text: string): string {
    return fill(text, foldersOf(this.place))
  }
  /** Does a path, after links, lie inside the package? */
  holds(path: string): boolean {
    const real = join(this.place.root, path)
    if (!existsSync(real))
      return (
        lstatSync(real, { throwIfNoEntry: false }) === undefined && !relative(this.place.root, real).startsWith('..')
      )
    const way = relative(realpathSync(this.place.root), realpathSync(real))
    return !way.startsWith('..') && !way.startsWith('/')
  }
  /** The files of a folder whose names end so, relative to it; links are not followed. */
  files(folder: string, ending = '', depth = 4): string[] {
    const path = join(this.place.root, folder)
    if (depth === 0 || !lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return []
    const entries = readdirSync(path, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, most)
    return entries
      .flatMap((entry) => {
        if (entry.isDirectory())
          return this.files(`${folder}/${entry.name}`, ending, depth - 1).map((name) => `${entry.name}/${name}`)
        return entry.isFile() && entry.name.endsWith(ending) ? [entry.name] : []
      })
      .slice(0, most)
  }
}

/** The names that texts of packages have for their folders. */
export const foldersOf = ({ root, data, workspace }: PackagePlace): Record<string, string> => ({
  CLAUDE_PLUGIN_ROOT: root,
  CLAUDE_PLUGIN_DATA: data,
  CLAUDE_PROJECT_DIR: workspace,
  PLUGIN_ROOT: root,
  PLUGIN_DATA: data,
})
