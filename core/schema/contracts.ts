import { readFileSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import type { Kind, Manifest, Schema } from '../shapes/index.js'
import { programFile, requireLibrary } from '../system/index.js'
import { inlineRuntime } from './built.js'
import { toFaults, type ContractFault } from './explain.js'

export type Contract =
  | 'manifest.1.json'
  | 'config.1.json'
  | 'tool-policy.1.json'
  | 'schedule_task.1.json'
  | 'thread_event.1.json'
  | 'job.1.json'

/** Reads one of our published schemas from `manifests/schema/`. */
export function readContract(name: Contract): Schema {
  return JSON.parse(readFileSync(programFile(`manifests/schema/${name}`), 'utf8'))
}

/** Returns whether a value is an event of a thread, as its published schema describes it. */
export const isThreadEvent = (value: unknown): boolean => loadContract('thread_event.1.json')(value)

// Compiling a schema takes longer than starting Node, so the build compiles it.
const loadContract = (name: Contract): ValidateFunction =>
  requireLibrary(programFile(`manifests/schema/_${name.slice(0, -'.json'.length)}.cjs`)) as ValidateFunction

/**
 * Checks a document against one of our schemas; `known` are the keys of its top level where the schema does not list
 * them in one place.
 */
export function checkContract(name: Contract, value: unknown, known?: readonly string[]): ContractFault[] {
  const validate = loadContract(name)
  return validate(value) ? [] : toFaults(validate.errors ?? [], known).slice(0, 8)
}

/** Compiles a schema to a script, for the build. */
export async function compileContract(name: Contract): Promise<string> {
  const [{ Ajv2020 }, { default: standalone }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv/dist/standalone/index.js'),
  ])
  const isEvent = name === 'thread_event.1.json'
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    // The faults of an event are not reported. Its schema describes members of several types at once.
    strictTypes: !isEvent,
    allErrors: !isEvent,
    verbose: !isEvent,
    logger: false,
    inlineRefs: false,
    code: { source: true },
  })
  ajv.addVocabulary([
    'x-workspace',
    'x-merge',
    'x-tightens',
    'x-unlimited',
    'x-free-value',
    'x-keeps-own',
    'x-one-author',
    'x-moved',
    'x-fired',
    'x-adds-layer',
  ])
  // A provider has the same schema in a manifest and in the settings.
  if (name === 'manifest.1.json') ajv.addSchema(readContract('config.1.json'))
  return inlineRuntime(standalone.default(ajv, ajv.compile(readContract(name))))
}

let keys: Record<string, string[]> | undefined
let ways: Record<string, string[]> = {}
/** Returns the keys that a manifest of each kind may have, from the schema. */
export function keysByKind(): Record<string, string[]> {
  if (keys) return keys
  const defs = readContract('manifest.1.json')['$defs'] as Record<
    string,
    { properties: Record<string, Schema>; oneOf?: { required: string[] }[] }
  >
  const common = defs['common']!.properties
  const kinds = common['kind']!['enum'] as string[]
  ways = Object.fromEntries(kinds.map((kind) => [kind, (defs[kind]!.oneOf ?? []).map(({ required: [way] }) => way!)]))
  keys = Object.fromEntries(
    kinds.map((kind) => [kind, [...Object.keys(common), ...Object.keys(defs[kind]!.properties)]]),
  )
  return keys
}
/** Returns the keys of which a manifest of a kind has exactly one: they select the adapter or the module. */
export const handlerKeys = (kind: Kind): string[] => (keysByKind(), ways[kind] ?? [])

/** Returns whether a key has its own meaning in manifests, so that no adapter may use it. */
export const isReservedKey = (key: string | undefined): boolean =>
  Object.values(keysByKind()).flat().includes(key!) &&
  !(['action', 'policy', 'compactor'] as const).some((kind) => key !== 'alias' && handlerKeys(kind).includes(key!))

/** Lists the keys of an action that an adapter can serve, installed or not. */
export function listAdapterKeys(manifest: Manifest): string[] {
  const data = handlerKeys('action').filter((way) => way !== 'module' && way !== 'alias')
  return Object.keys(manifest).filter((key) => data.includes(key) || !keysByKind()['action']!.includes(key))
}
