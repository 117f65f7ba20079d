import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBytes, VtError, type Diagnostic, type JsonObject, type Manifest, type PackagePlace, type PackageReader, type PackageSkills } from '../../../core/index.js'

/** What a package brings, and what of it nobody honours. */
export class Package {
  native?: ReturnType<PackageReader>['native']
  skills?: () => PackageSkills
  readonly manifests: { file: string; manifest: Manifest }[] = []
  readonly diagnostics: Diagnostic[] = []
  constructor(
    readonly format: string,
    readonly place: PackagePlace,
  ) {}

  /** A server as a manifest that brings it. */
  server(name: string, definition: JsonObject, file: string): void {
    this.manifests.push({ file, manifest: { name, mcp: { server: definition } } })
  }
  invalid(problem: string, file: string): void {
    this.say('VT_FORMAT_INVALID', problem, 'Mend the file that is named, or ask its author.', file)
  }
  /** Each part that is there and not honoured, with how much of it there is. */
  unsupported(parts: Record<string, number>, file: string): void {
    for (const [part, count] of Object.entries(parts)) {
      if (count > 0) this.say('VT_FORMAT_UNSUPPORTED', `${part} of the ${this.format} package ${this.place.plugin} (${count}) are not honoured here.`, 'The other parts work.', file)
    }
  }
  private say(code: string, message: string, hint: string, file: string): void {
    this.diagnostics.push({ code, severity: 'warning', message, hint, files: [file] })
  }

  /** A JSON document of the package, or nothing and the reason among the diagnostics. A link out of the package is not followed. */
  read(path: string): JsonObject | undefined {
    const file = join(this.place.root, path)
    if (!existsSync(file)) return undefined
    try {
      if (!this.holds(path)) throw new Error('it is a link out of the package')
      const value = sound(JSON.parse(readBytes(file).toString().replace(/^\ufeff/, '')))
      if (!isObject(value)) throw new Error('it is no object')
      return value
    } catch (error) {
      const { message } = error as Error
      this.invalid(error instanceof VtError ? message : `${file} cannot be used: ${message}.`, file)
      return undefined
    }
  }
  /** What a file of the package holds; a pipe, a device or a huge one is reported. */
  bytes(file: string): Buffer | undefined {
    try {
      return readBytes(file, { within: this.place.root })
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
    if (!existsSync(real)) return lstatSync(real, { throwIfNoEntry: false }) === undefined && !relative(this.place.root, real).startsWith('..')
    const way = relative(realpathSync(this.place.root), realpathSync(real))
    return !way.startsWith('..') && !way.startsWith('/')
  }
  /** How many entries of a folder fit. */
  count(folder: string, fits: RegExp): number {
    const path = join(this.place.root, folder)
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => fits.test(name)).length : 0
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

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What nobody who walks through it falls over: not deep, and without keys that could reach a prototype. Throws what is wrong. */
function sound(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > 64) throw new Error('it is nested more than 64 levels deep')
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') throw new Error(`the key '${key}' is not allowed`)
    sound(item, depth + 1)
  }
  return value
}

/** The text with these variables filled in, in one pass; any other stays as it is. */
export function fill<T>(value: T, variables: Record<string, string>): T
export function fill(value: unknown, variables: Record<string, string>): unknown {
  if (typeof value === 'string') return value.replace(/\$\{([\w/]+)\}/g, (whole, name: string) => (Object.hasOwn(variables, name) ? variables[name]! : whole))
  if (Array.isArray(value)) return value.map((item) => fill(item, variables))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, variables)]))
}
