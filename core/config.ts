import { lstatSync, readFileSync, statSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { conform, readContract } from './conform.js'
import { type Data } from './data.js'
import { itemForConfig, itemForValue, type TrustItem } from './digest.js'
import { problem, report, VtError } from './errors.js'
import { load } from './explorer.js'
import { merge, type Source } from './merge.js'
import { freeze, plain } from './plain.js'
import type { Config, Diagnostic, JsonObject, Layer, Mode, Origin, Settings } from './types.js'

/** Gives a settings file its types. */
export const defineConfig = (config: Config): Config => config

export interface SettingsOptions {
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Folder of the machine's administrator. */
  admin?: string
  /** Settings of the call: data, `a.b=value`, or a file that stands instead of the workspace's; later ones win. */
  config?: Config | string | readonly (Config | string)[]
  mode?: Mode
  /** The mode when nobody says one. */
  default_mode?: Mode
  env: Record<string, string | undefined>
  /** Has the user agreed to this item of the workspace, as it stands? Default: to none. */
  trusted?: (id: string, digest: string) => boolean
}
export interface LoadedSettings {
  settings: Settings
  origins: Origin[]
  diagnostics: Diagnostic[]
  /** Every settings file that was read. */
  files: string[]
  /** What of the workspace's settings needs the user's consent, given or not. */
  items: TrustItem[]
}

const dataEnds = ['json', 'yaml', 'yml']
const codeEnds = ['ts', 'mts', 'js', 'mjs']
const isCode = (file: string): boolean => codeEnds.includes(extname(file).slice(1))

/**
 * The settings of all layers, merged. Throws VT_CONFIG_INVALID and VT_CONFIG_AMBIGUOUS with `details.files` for a file that may be read and is
 * wrong; what a workspace says beyond its standing is ignored and reported.
 */
export async function loadSettings(options: SettingsOptions): Promise<LoadedSettings> {
  const { workspace, home, admin = '/etc/vtcode', env, mode, default_mode, trusted = () => false } = options
  const result = { diagnostics: [] as Diagnostic[], files: [] as string[], items: [] as TrustItem[] }
  const sources: Source[] = []
  const add = async (layer: Layer, file: string | undefined) => {
    const source = file && (await readSource(file, layer, options, result))
    if (!source) return
    result.files.push(file)
    sources.push(source)
  }

  const managed = only(ends(join(admin, 'vtcode.config'), dataEnds))
  if (managed && ownedByRoot([admin, managed], result.diagnostics)) await add('admin', managed)
  await add('user', only(ends(join(home, 'vtcode.config'), [...codeEnds, ...dataEnds])))

  const given = [options.config ?? []].flat() as (Config | string)[]
  const file = given.findLast((one) => typeof one === 'string' && !one.includes('='))
  if (typeof file === 'string') await add('call', resolve(file))
  else for (const candidates of workspacePlaces(workspace, home)) await add('workspace', only(candidates))

  for (const [name, text] of Object.entries(env)) {
    if (name.startsWith('VTCODE__') && text !== undefined) sources.push(await checked(assignment(name.slice(8).toLowerCase().split('__'), text), name))
  }
  for (const one of given) {
    if (typeof one !== 'string') sources.push(await checked(one, 'options'))
    else if (one.includes('=')) sources.push(await checked(assignment(one.slice(0, one.indexOf('=')).split('.'), one.slice(one.indexOf('=') + 1)), `--config ${one}`))
  }
  for (const source of sources) {
    source.trusted = (key, value) => {
      const item = itemForValue(source.file, key, value, workspace)
      result.items.push(item)
      return trusted(item.id, item.digest)
    }
  }
  // Most starts find no settings: they take the defaults as the build wrote them, and who said what is worked out when it is asked.
  const unset = sources.length === 0
  if (default_mode !== undefined) sources.unshift({ layer: 'builtin', file: 'default_mode', value: { policy: { mode: default_mode } } })
  if (mode !== undefined) sources.push({ layer: 'call', file: 'mode', value: { policy: { mode } } })
  const laid = () => merge(readContract('config.1.json'), sources)
  if (unset) {
    const settings = defaults()
    settings.policy.mode = mode ?? default_mode ?? settings.policy.mode
    let origins: Origin[] | undefined
    return { ...result, settings: freeze(settings), get origins() { return (origins ??= laid().origins) } }
  }
  const { settings, origins, diagnostics } = laid()
  return { ...result, settings: freeze(settings) as Settings, origins, diagnostics: [...result.diagnostics, ...diagnostics] }
}

/** The settings of someone who has set nothing. */
export function defaults(): Settings {
  return JSON.parse(readFileSync(new URL('../manifests/schema/_defaults.json', import.meta.url), 'utf8'))
}

/** What is wrong with one settings file, by line; nothing when it may be used. Code runs in a process of its own. */
export async function validateConfigFile(file: string): Promise<Diagnostic[]> {
  try {
    const path = resolve(file)
    const data = isCode(path) ? undefined : await loadData(path)
    await checked(data ? data.value : await (await import('./evaluate.js')).evaluateAside(path, { cwd: process.cwd(), env: process.env }), path, data)
    return []
  } catch (error) {
    const { code, message, hint, details } = (error instanceof VtError ? error : invalid((error as Error).message, [file])).problem
    return [{ code, severity: 'error', message, hint, files: (details?.['files'] as string[] | undefined) ?? [file] }]
  }
}

const ends = (stem: string, endings: readonly string[]): string[] => endings.map((end) => `${stem}.${end}`)

/** The places of a workspace's settings, the later over the earlier. The user's own folder is not read twice. */
function workspacePlaces(workspace: string, home: string): string[][] {
  const folder = join(workspace, '.vtcode')
  const here = statSync(folder, { throwIfNoEntry: false })
  const own = here && statSync(home, { throwIfNoEntry: false })
  const root = ends(join(workspace, 'vtcode.config'), [...codeEnds, ...dataEnds])
  if (!here || (own?.dev === here.dev && own.ino === here.ino)) return [root]
  return [[...root, ...ends(join(folder, 'config'), dataEnds)], ends(join(folder, 'config.local'), dataEnds)]
}

/** The one of these files that exists. Throws VT_CONFIG_AMBIGUOUS when there are two. */
function only(candidates: readonly string[]): string | undefined {
  const found = candidates.filter((file) => lstatSync(file, { throwIfNoEntry: false }))
  if (found.length > 1) throw problem('VT_CONFIG_AMBIGUOUS', { files: found.join(' and ') }, { details: { files: found } })
  return found[0]
}

function ownedByRoot(paths: string[], diagnostics: Diagnostic[]): boolean {
  const loose = paths.find((path) => {
    const { uid, mode } = statSync(path)
    return uid !== 0 || (mode & 0o022) !== 0
  })
  if (loose !== undefined) diagnostics.push(report('VT_CONFIG_FOREIGN', { file: loose }, [loose], 'warning'))
  return loose === undefined
}

async function readSource(file: string, layer: Layer, options: SettingsOptions, result: Omit<LoadedSettings, 'settings' | 'origins'>): Promise<Source | undefined> {
  const { workspace, env, mode, trusted = () => false } = options
  const foreign = layer === 'workspace'
  if (!isCode(file)) {
    const data = await loadData(file, foreign ? workspace : undefined)
    return { ...(await checked(data.value ?? {}, file, data)), layer }
  }
  const circumstances = { cwd: workspace, env, ...(mode && { mode }) }
  const { evaluate, evaluateAside } = await import('./evaluate.js')
  if (!foreign) return { ...(await checked(await run(file, () => evaluate(file, circumstances)), file)), layer }
  const item = itemForConfig(file, workspace)
  result.items.push(item)
  if (trusted(item.id, item.digest)) return { ...(await checked(await evaluateAside(file, circumstances), file)), layer }
  result.diagnostics.push(report('VT_CONFIG_UNTRUSTED', { file }, [file], 'warning'))
  return undefined
}

async function loadData(file: string, within?: string): Promise<Data> {
  return run(file, () => load(file, within))
}

/** Whatever goes wrong while reading is a fault of the settings. */
async function run<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const files = (error instanceof VtError && (error.problem.details?.['files'] as string[] | undefined)) || [file]
    throw invalid(`${files[0]}: ${(error as Error).message}`, files)
  }
}

const invalid = (text: string, files: string[]): VtError => problem('VT_CONFIG_INVALID', { problem: text }, { details: { files } })

/** A source whose value is plain data and fits the schema. Throws VT_CONFIG_INVALID with every fault and its line. */
async function checked(value: unknown, file: string, data?: Data): Promise<Source> {
  const line = (path: readonly string[]): number | undefined => (data ? Number(/:(\d+):\d+$/.exec(data.at(path))?.[1]) || undefined : undefined)
  let copy: unknown
  try {
    copy = plain(value, { depth: 32 })
  } catch (error) {
    throw invalid(`${file}: ${(error as Error).message}`, [file])
  }
  const key = forbidden(copy)
  if (key) throw invalid(`${file}: The key '${key}' is not allowed.`, [file])
  const faults = await conform('config.1.json', withoutNulls(copy))
  if (faults.length > 0) {
    const places = faults.map(({ path }) => data?.at(path) ?? file)
    throw invalid(faults.map(({ problem }, index) => `${places[index]}: ${problem}`).join('\n'), places)
  }
  return { layer: 'call', file, value: copy as JsonObject, ...(data && { line: (path: readonly string[]) => line(path)! }) }
}

/** `null` takes a setting back and so fits everywhere. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])))
}

function forbidden(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const found = ['__proto__', 'constructor', 'prototype'].includes(key) ? key : forbidden(item)
    if (found) return found
  }
  return undefined
}

/** `{ a: { b: value } }`; the text is JSON where it parses, else itself. */
function assignment(path: readonly string[], text: string): JsonObject {
  let value: unknown = text
  try {
    value = JSON.parse(text)
  } catch {
    // It is text.
  }
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value) as JsonObject
}
