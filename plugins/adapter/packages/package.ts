import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { hashContent } from '../../../core/trust/index.js'
import {
  VtError,
  type Diagnostic,
  type JsonObject,
  type Manifest,
  type PackagePlace,
  type PackageReader,
  type PackageSkills,
} from '../../../core/index.js'
import { fill, isObject, requirePlainData } from './objects.js'
import { toManifestFields, toVariables, parseNeeds, type Needs } from './values.js'

const MAX_FILES = 500

/** The contents of a package, and the diagnostics about the parts that are not supported. */
export class Package {
  native?: ReturnType<PackageReader>['native']
  skills?: () => PackageSkills
  /** Set when nothing of the package may be used. */
  isRefused = false
  readonly manifests: { file: string; manifest: Manifest; read?: string }[] = []
  /** The hash of the read bytes, by file. */
  readonly #read = new Map<string, string>()
  readonly diagnostics: Diagnostic[] = []
  /** The values that the package needs from the user. */
  needs: Needs = parseNeeds(undefined)
  /** Returns the variable for a value of the user, in formats that have one. */
  variable?: (key: string) => string
  constructor(
    readonly format: string,
    readonly place: PackagePlace,
  ) {}

  /** Adds a manifest for a part of the package. */
  addManifest(name: string, manifest: Manifest, file: string): void {
    if (!/^[^\p{Cc}\p{Cf}]{1,128}$/u.test(name)) {
      return this.reportInvalid(
        `${file}: the name ${JSON.stringify(name.slice(0, 40))} is empty, longer than 128 characters ` +
          'or holds invisible characters.',
        file,
      )
    }
    const read = this.#read.get(file)
    this.manifests.push({
      file,
      manifest: { name, ...manifest, ...toManifestFields(this.needs) },
      ...(read !== undefined && { read }),
    })
  }
  /** Returns the values of the user as variables. */
  listVariables(): JsonObject {
    return this.variable ? toVariables(this.needs, this.variable) : {}
  }
  reportInvalid(problem: string, file: string): void {
    // For packages of the user, faults were shown at consent; files of a workspace can be fixed.
    const fixable = this.place.layer === 'workspace' || this.place.file !== undefined
    this.report(
      'VT_FORMAT_INVALID',
      fixable ? 'warning' : 'info',
      problem,
      'Fix the named file, or ask its author.',
      file,
    )
  }
  /** Refuses the whole package: without this part it would do less than its author promises, such as guard calls. */
  refuse(problem: string, file: string): void {
    this.isRefused = true
    this.report('VT_FORMAT_INVALID', 'warning', problem, 'Nothing of the package is used. Fix the named file.', file)
  }
  /** Reports what the program of the format refuses, although this program can use it. */
  reportForeign(problem: string, file: string): void {
    this.reportInvalid(`${this.format} refuses the package: ${problem}.`, file)
  }
  /** Reports each unsupported part, with the number or the names of its entries. */
  reportUnsupported(parts: Record<string, number | readonly string[]>, file: string): void {
    for (const [part, values] of Object.entries(parts)) {
      const [count, names] =
        typeof values === 'number'
          ? [values, '']
          : [values.length, `: ${values.slice(0, 8).join(', ')}${values.length > 8 ? ' …' : ''}`]
      // The user saw this at consent and cannot fix it.
      if (count > 0)
        this.report(
          'VT_FORMAT_UNSUPPORTED',
          'info',
          `${part} of the ${this.format} package ${this.place.plugin} (${count}${names}) are not supported here.`,
          'The other parts work.',
          file,
        )
    }
  }
  /** Reports manifests for other programs, which usually have the same content. */
  reportOtherManifests(paths: readonly string[]): void {
    const verb = paths.length === 1 ? 'is' : 'are'
    const message = `The package is read in the format ${this.format}; ${paths.join(', ')} ${verb} not read.`
    this.report(
      'VT_FORMAT_UNSUPPORTED',
      'info',
      message,
      'Nothing is missing if they have the same content.',
      join(this.place.root, paths[0]!),
    )
  }
  /** Reports a document that is not a plugin but lists some. */
  reportOffers(message: string, file: string): void {
    this.report('VT_FORMAT_UNSUPPORTED', 'info', message, 'Nothing else of it is read.', file)
  }
  private report(code: string, severity: Diagnostic['severity'], message: string, hint: string, file: string): void {
    this.diagnostics.push({ code, severity, message, hint, files: [file] })
  }

  /**
   * Reads a JSON document of the package. Returns nothing and adds a diagnostic on failure. Links out of the package
   * are not followed.
   */
  readJson(path: string): JsonObject | undefined {
    const file = join(this.place.root, path)
    if (!existsSync(file)) return undefined
    try {
      if (!this.containsPath(path)) throw new Error('a link leads out of the package')
      const bytes = readBytes(file)
      this.#read.set(file, hashContent(bytes))
      const value = requirePlainData(JSON.parse(bytes.toString().replace(/^\ufeff/, '')))
      if (!isObject(value)) throw new Error('the document is not an object')
      return value
    } catch (error) {
      const { message } = error as Error
      this.reportInvalid(error instanceof VtError ? message : `${file} cannot be used: ${message}.`, file)
      return undefined
    }
  }
  /** Reads a file of the package; reports pipes, devices and large files. */
  readFileBytes(file: string, limit = 262_144): Buffer | undefined {
    try {
      return readBytes(file, { within: this.place.root, limit })
    } catch (error) {
      return void this.reportInvalid((error as Error).message, file)
    }
  }
  /** Returns the real path inside the package. Returns nothing where none exists, and reports a path that leads out. */
  resolveInside(path: string): string | undefined {
    const file = join(this.place.root, path)
    if (!existsSync(file)) return undefined
    if (this.containsPath(path)) return realpathSync(file)
    this.reportInvalid(`${file} leads out of the package and is not read.`, file)
    return undefined
  }
  /** Returns the real path of a folder; reports any other entry. */
  resolveFolder(path: string): string | undefined {
    const found = this.resolveInside(path)
    if (found === undefined || statSync(found).isDirectory()) return found
    this.reportInvalid(`${join(this.place.root, path)} is not a folder.`, join(this.place.root, path))
    return undefined
  }
  /** Fills in the folders of the package in a text. */
  fillFolders(text: string): string {
    return fill(text, createFolderVariables(this.place))
  }
  /** Returns whether a path, after links, is inside the package. */
  containsPath(path: string): boolean {
    const real = join(this.place.root, path)
    if (!existsSync(real))
      return (
        lstatSync(real, { throwIfNoEntry: false }) === undefined && !relative(this.place.root, real).startsWith('..')
      )
    const way = relative(realpathSync(this.place.root), realpathSync(real))
    return !way.startsWith('..') && !way.startsWith('/')
  }
  /** Lists the files of a folder whose names have this ending, relative to it. Links are not followed. */
  listPackageFiles(folder: string, ending = '', depth = 4): string[] {
    const path = join(this.place.root, folder)
    if (depth === 0 || !lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return []
    const entries = readdirSync(path, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_FILES)
    return entries
      .flatMap((entry) => {
        if (entry.isDirectory())
          return this.listPackageFiles(`${folder}/${entry.name}`, ending, depth - 1).map(
            (name) => `${entry.name}/${name}`,
          )
        return entry.isFile() && entry.name.endsWith(ending) ? [entry.name] : []
      })
      .slice(0, MAX_FILES)
  }
}

/** Returns the variables for the folders of a package. */
export const createFolderVariables = ({ root, data, workspace }: PackagePlace): Record<string, string> => ({
  CLAUDE_PLUGIN_ROOT: root,
  CLAUDE_PLUGIN_DATA: data,
  CLAUDE_PROJECT_DIR: workspace,
  PLUGIN_ROOT: root,
  PLUGIN_DATA: data,
})
