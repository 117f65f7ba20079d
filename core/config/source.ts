import { extname } from 'node:path'
import { firstLine, toJson, problem, VtError, type JsonObject, type Layer } from '../shapes/index.js'
import {
  forbidden,
  loadOpened,
  parseAgain,
  parseData,
  readBytes,
  type Data,
  type ParseCache,
} from '../documents/index.js'
import { conform, type ContractFault } from '../schema/index.js'
import type { EvaluationInput } from './evaluate.js'
import { keepLiterals } from './literal_secrets.js'

/** The settings of one file, variable or option. */
export interface SettingsSource {
  layer: Layer
  /** The absolute file, or the name of the variable or option. */
  file: string
  value: JsonObject
  /** 1-based line of a value in `file`. */
  line?(path: readonly string[]): number
  /** Whether the user consented to this value of a workspace. Called once for each key with `x-workspace: trusted`. */
  trusted?(path: string, value: unknown): boolean
}

export const dataEnds = ['json', 'yaml', 'yml']
export const codeEnds = ['ts', 'mts', 'js', 'mjs']
export const isCode = (file: string): boolean => codeEnds.includes(extname(file).slice(1))

/** A settings file in a data format, below `within` if that is set; a file that the cache knows is not checked again. Throws VT_CONFIG_INVALID. */
export async function fromData(
  layer: Layer,
  file: string,
  { within, shelf }: { within?: string; shelf?: ParseCache | undefined } = {},
): Promise<SettingsSource> {
  const json = extname(file) === '.json'
  const sort = json ? 'settings_json' : 'settings_yaml'
  let flawless = false
  const data = await reading(file, async () => {
    const bytes = readBytes(file, { within })
    flawless = shelf?.get(sort, bytes) === true
    if (!flawless) return loadOpened(file, bytes)
    return json ? parseAgain(bytes, file) : parseData(bytes, file)
  })
  const source = check({ layer, file, value: (data.value ?? {}) as JsonObject }, data, flawless)
  if (!flawless) shelf?.put(sort, data.bytes, true)
  return source
}

/**
 * A settings file in code, run in this program or, with `wait`, in a process of its own for at most so many milliseconds; `from` is the copy of
 * it that was agreed to. Throws VT_CONFIG_INVALID.
 */
export async function fromCode(
  layer: Layer,
  file: string,
  circumstances: EvaluationInput,
  { wait, from = file }: { wait?: number; from?: string } = {},
): Promise<SettingsSource> {
  const { evaluate, evaluateAside } = await import('./evaluate.js')
  const run = () => (wait === undefined ? evaluate(from, circumstances) : evaluateAside(from, circumstances, wait))
  const value = await reading(file, () => (from === file ? run() : run().catch(explainImport)))
  return check({ layer, file, value: value as JsonObject })
}

/** Names the rule where a copy of settings lacks what they import. Rejects with the error. */
function explainImport(error: Error): never {
  const isMissing = /Cannot find (?:module|package)|agreed to/.test(error.message)
  if (!isMissing) throw error
  const rule = 'settings of a workspace import vtcode, node: modules, and files that they name by a relative path'
  throw new Error(`${firstLine(error)}; ${rule}.`)
}

/** Settings of the call, from a variable or an option. Throws VT_CONFIG_INVALID. */
export async function fromCall(name: string, value: JsonObject): Promise<SettingsSource> {
  try {
    return check({ layer: 'call', file: name, value })
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    throw new VtError({
      ...error.problem,
      hint: `Correct ${name.replace(/=.*/s, '')}; \`vtcode config schema config\` lists what can be set.`,
    })
  }
}

/** `{ a: { b: value } }` for the path `a.b`; the text is JSON where it parses, else itself. */
export function assign(path: readonly string[], text: string): JsonObject {
  let value: unknown = text
  try {
    value = JSON.parse(text)
  } catch {
    // The value is text.
  }
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value) as JsonObject
}

/** Every error while reading becomes a fault of the settings. */
async function reading<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const files = (error instanceof VtError && (error.problem.details?.['files'] as string[] | undefined)) || [file]
    throw invalid(`${files[0]}: ${(error as Error).message}`, files)
  }
}

const invalid = (text: string, files: string[]): VtError =>
  problem('VT_CONFIG_INVALID', { problem: text }, { details: { files } })

/** The source with its value as plain, frozen data that fits the schema; a `flawless` source is not checked again. Throws VT_CONFIG_INVALID with every fault and its line. */
function check(source: SettingsSource, data?: Data, flawless = false): SettingsSource {
  const { file } = source
  let value: JsonObject
  try {
    value = toJson(source.value, { depth: 32 }) as JsonObject
  } catch (error) {
    throw invalid(`${file}: ${(error as Error).message}`, [file])
  }
  // What a workspace writes is in the open already, and could put down words that the user has to see.
  if (source.layer !== 'workspace') keepLiterals(value)
  const key = forbiddenIn(value)
  if (key) throw invalid(`${file}: The key '${key}' is not allowed.`, [file])
  const faults = flawless ? [] : conform('config.1.json', withoutNulls(value))
  if (!flawless && faults.length === 0) faults.push(...twins(value, 'custom_providers'))
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

/** Entries of the same name in a list that is joined by name: one would silently replace the other. */
function twins(value: JsonObject, key: string): ContractFault[] {
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

/** `null` unsets a setting, so that it fits every schema. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])),
  )
}

function forbiddenIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const found = forbidden.has(key) ? key : forbiddenIn(item)
    if (found) return found
  }
  return undefined
}
