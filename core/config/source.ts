import { basename, extname } from 'node:path'
import { firstLine, toJson, problem, VtError, type JsonObject, type Layer } from '../shapes/index.js'
import {
  FORBIDDEN_KEYS,
  parseDocument,
  parseCheckedJson,
  parseData,
  PACKAGE_FILE,
  type FoundFile,
  type ParsedDocument,
  type ParseCache,
} from '../documents/index.js'
import { checkContract, type ContractFault } from '../schema/index.js'
import type { EvaluationInput } from './evaluate.js'
import { registerLiterals } from './literal_secrets.js'
import { CODE_ENDINGS } from './places.js'

/** The settings of one file, variable or option. */
export interface SettingsSource {
  layer: Layer
  /** The absolute file, or the name of the variable or option. */
  file: string
  value: JsonObject
  /** 1-based line of a value in `file`. */
  line?(path: readonly string[]): number
  /**
   * Returns whether the user agreed to this value of a workspace. Called once for each key with `x-workspace: trusted`.
   */
  isTrusted?(path: string, value: unknown): boolean
}

export const isCode = (file: string): boolean => CODE_ENDINGS.includes(extname(file).slice(1))

/**
 * Parses a settings file in a data format; one in the cache is not checked again. Of a `package.json`, only the member
 * `vtcode` counts. Throws VT_CONFIG_INVALID.
 */
export async function readDataFile(
  layer: Layer,
  { file, bytes }: FoundFile,
  cache?: ParseCache,
): Promise<SettingsSource> {
  if (basename(file) === PACKAGE_FILE) return readPackageFile(layer, { file, bytes })
  const json = extname(file) === '.json'
  const sort = json ? 'settings_json' : 'settings_yaml'
  const flawless = cache?.get(sort, bytes) === true
  const data = await wrapReadErrors(file, async () => {
    if (!flawless) return parseDocument(file, bytes)
    return json ? parseCheckedJson(bytes, file) : parseData(bytes, file)
  })
  const source = checkSource({ layer, file, value: (data.value ?? {}) as JsonObject }, data, flawless)
  if (!flawless) cache?.put(sort, data.bytes, true)
  return source
}

async function readPackageFile(layer: Layer, { file, bytes }: FoundFile): Promise<SettingsSource> {
  const data = await wrapReadErrors(file, () => parseDocument(file, bytes))
  const value = ((data.value as JsonObject | null)?.['vtcode'] ?? {}) as JsonObject
  return checkSource({ layer, file, value }, { value, bytes, at: (path) => data.at(['vtcode', ...path]) })
}

/**
 * Reads a settings file in code, run in this program or, with `wait`, in a child process for at most so many
 * milliseconds; `from` is its consented copy. Throws VT_CONFIG_INVALID.
 */
export async function readCodeFile(
  layer: Layer,
  { file, bytes }: FoundFile,
  input: EvaluationInput,
  { wait, from = file }: { wait?: number; from?: string } = {},
): Promise<SettingsSource> {
  const { evaluate, evaluateInChild } = await import('./evaluate.js')
  const run = () => (wait === undefined ? evaluate(from, input, { bytes }) : evaluateInChild(from, input, wait))
  const value = await wrapReadErrors(file, () => (from === file ? run() : run().catch(explainImport)))
  return checkSource({ layer, file, value: value as JsonObject })
}

/** Adds the rule for imports to the error of a settings file that lacks an import. Throws the error. */
function explainImport(error: Error): never {
  const isMissing = /Cannot find (?:module|package)|agreed to/.test(error.message)
  if (!isMissing) throw error
  const rule = 'settings of a workspace can import vtcode, node: modules, and files with a relative path'
  throw new Error(`${firstLine(error)}; ${rule}.`)
}

/** Creates the settings of a variable or an option. Throws VT_CONFIG_INVALID. */
export async function createCheckedSource(name: string, value: JsonObject): Promise<SettingsSource> {
  try {
    return checkSource({ layer: 'call', file: name, value })
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    throw new VtError({
      ...error.problem,
      hint: `Correct ${name.replace(/=.*/s, '')}; \`vtcode config schema config\` lists all settings.`,
    })
  }
}

/** Returns `{ a: { b: value } }` for the path `a.b`; the text is parsed as JSON if possible. */
export function parseAssignment(path: readonly string[], text: string): JsonObject {
  let value: unknown = text
  try {
    value = JSON.parse(text)
  } catch {
    // The value is text.
  }
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value) as JsonObject
}

/** Converts every error of a read to a fault of the settings. */
export async function wrapReadErrors<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const files = (error instanceof VtError && (error.problem.details?.['files'] as string[] | undefined)) || [file]
    throw invalid(`${files[0]}: ${(error as Error).message}`, files)
  }
}

const invalid = (text: string, files: string[]): VtError =>
  problem('VT_CONFIG_INVALID', { problem: text }, { details: { files } })

/**
 * Returns the source with its value as plain, frozen data that fits the schema; a `flawless` source is not checked
 * again. Throws VT_CONFIG_INVALID with every fault and its line.
 */
function checkSource(source: SettingsSource, data?: ParsedDocument, flawless = false): SettingsSource {
  const { file } = source
  let value: JsonObject
  try {
    value = toJson(source.value, { depth: 32 }) as JsonObject
  } catch (error) {
    throw invalid(`${file}: ${(error as Error).message}`, [file])
  }
  // Literals of a workspace are public already, and registering them could redact words that the user needs.
  if (source.layer !== 'workspace') registerLiterals(value)
  const key = findForbiddenKey(value)
  if (key) throw invalid(`${file}: The key '${key}' is not allowed.`, [file])
  const faults = flawless ? [] : checkContract('config.1.json', omitNulls(value))
  if (!flawless && faults.length === 0) faults.push(...findDuplicateNames(value, 'custom_providers'))
  if (faults.length > 0) {
    const places = faults.map(({ path }) => data?.at(path) ?? file)
    throw invalid(faults.map(({ problem }, index) => `${places[index]}: ${problem}`).join('\n'), places)
  }
  return {
    ...source,
    value,
    ...(data && { line: (path: readonly string[]) => Number(/:(\d+):\d+$/.exec(data.at(path))?.[1]) }),
  }
}

/** Finds entries with the same name in a list that is joined by name: one would silently replace the other. */
function findDuplicateNames(value: JsonObject, key: string): ContractFault[] {
  const names = ((value[key] ?? []) as { name: string }[]).map(({ name }) => name)
  return names.flatMap((name, index) => {
    const first = names.indexOf(name)
    return first === index
      ? []
      : [
          {
            path: [key, index, 'name'],
            problem: `'${key}.${index}.name' is '${name}', as in '${key}.${first}': give each entry a name of its own.`,
          },
        ]
  })
}

/** Removes `null` values, which unset a setting and fit every schema. */
function omitNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, omitNulls(item)]])),
  )
}

function findForbiddenKey(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const found = FORBIDDEN_KEYS.has(key) ? key : findForbiddenKey(item)
    if (found) return found
  }
  return undefined
}
