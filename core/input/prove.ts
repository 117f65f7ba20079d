import { nearest, report, VtError, type Contribution, type Diagnostic, type JsonObject, type Schema, type SlotInfo } from '../base/index.js'
import { loadDocument } from '../documents/index.js'
import { foldKey, type AliasPart, type Registry, type Slot } from '../registry/index.js'
import { compile } from '../schema/index.js'
import { neverHolds } from './never.js'
import { resolve as resolveCall, spell } from './resolve.js'

/** What is wrong in a manifest at a path, and what mends it. */
export interface Fault {
  path: readonly (string | number)[]
  problem: string
  fix: string
}

/**
 * What would go wrong in calls of what a manifest of others brings, with file and line, found by reading the manifest. `byAdapter`
 * finds what only the adapter of its key can. Contract: never rejects.
 */
export async function proven(registry: Registry, contribution: Contribution, byAdapter: (contribution: Contribution, slot: SlotInfo) => Promise<Fault[]>): Promise<Diagnostic[]> {
  const slot = registry.slots.get(contribution.slot ?? '')
  const own = slot?.primary === contribution ? slot : undefined
  const faults = [
    ...(await schemaFaults(contribution)),
    ...codeFaults(contribution),
    ...(slot ? await byAdapter(contribution, slot.info) : []),
    ...(own ? [...(await inferFaults(own)), ...aliasFaults(registry, own), ...(await quotedFaults(registry, own))] : []),
  ]
  // What is wrong with the manifest makes its examples fail.
  const examples = slot && faults.length === 0 ? await exampleFaults(registry, contribution, slot) : []
  if (faults.length + examples.length === 0) return []
  const data = await loadDocument(contribution.file, contribution.root).catch(() => undefined)
  const place = (path: Fault['path']): string => data?.at(path) ?? contribution.file
  return [
    ...faults.map(({ path, problem, fix }) => ({ ...report('VT_MANIFEST_INVALID', { problem }, [place(path)]), hint: fix })),
    ...examples.map(({ at, problem }) => report('VT_MANIFEST_EXAMPLE', { number: at + 1, slot: slot!.info.slot, problem }, [place(['examples', at, 'input'])])),
  ]
}

async function schemaFaults({ id, manifest }: Contribution): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const key of ['input', 'output', 'options'] as const) {
    const schema = manifest[key]
    if (!schema) continue
    await compile(schema, `${key} of ${id}`).catch((error: Error) => {
      faults.push({ path: [key], problem: error.message, fix: `Correct \`${key}\`: every call would fail with ${error instanceof VtError ? error.code : error.name}.` })
    })
  }
  return faults
}

function codeFaults({ manifest }: Contribution): Fault[] {
  const ours = Object.keys(manifest.errors ?? {}).filter((code) => code.startsWith('VT_'))
  const fix = 'Give it a code that begins with the name of the plugin in capitals.'
  return ours.map((code) => ({ path: ['errors', code], problem: `'${code}' is a code of vtcode, or looks like one; from a plugin it becomes VT_PLUGIN_FAILED.`, fix }))
}

/** What decides for an action has to hold for some input that this action takes. */
async function inferFaults({ info, primary, shape }: Slot): Promise<Fault[]> {
  const { infer } = primary.manifest
  if (!infer) return []
  if (info.action === undefined) return [{ path: ['infer'], problem: `\`infer\` chooses among the actions of a tool, and ${info.tool} has none.`, fix: 'Remove it, or name an action: `action: tool/action`.' }]
  const rules: [path: Fault['path'], schema: Schema | undefined][] = [
    [['infer', 'when'], infer.when],
    [['infer', 'otherwise'], infer.otherwise],
    ...(infer.former ?? []).map(({ when }, at): [Fault['path'], Schema | undefined] => [['infer', 'former', at, 'when'], when]),
    ...(infer.presets ?? []).map(({ when }, at): [Fault['path'], Schema | undefined] => [['infer', 'presets', at, 'when'], when]),
  ]
  const faults: Fault[] = []
  for (const [path, schema] of rules) {
    // A preset is asked about the word that chose the action too.
    const takes = path[1] === 'presets' ? { ...shape.properties, action: { type: 'string' } } : shape.properties
    const why = schema && (await neverHolds(schema, { type: 'object', properties: takes, ...(!shape.open && { additionalProperties: false }) }))
    if (why !== undefined) faults.push({ path, problem: `This rule can never hold: ${why}.`, fix: 'Correct the rule, or remove it.' })
  }
  return faults
}

/** What an alias passes on has to be known to what it stands for. */
function aliasFaults({ slots }: Registry, { primary }: Slot): Fault[] {
  const walk = (part: AliasPart, outer: string | undefined, path: Fault['path']): Fault[] => {
    const to = part.to ?? outer
    const target = slots.get(to ?? '')
    const strange = (key: 'rename' | 'set' | 'default', name: string, at: string): Fault[] => {
      if (!target || target.shape.open || target.shape.names.has(foldKey(name)) || name === 'action') return []
      const known = Object.keys(target.shape.properties)
      const like = nearest(name, known)
      return [{ path: [...path, key, at], problem: `'${name}' is no property of ${to}, so its call would be refused.`, fix: like ? `Write '${like}'.` : `${to} takes: ${known.join(', ')}.` }]
    }
    return [
      ...Object.entries(part.rename ?? {}).flatMap(([from, name]) => strange('rename', name, from)),
      ...(['set', 'default'] as const).flatMap((key) => Object.keys(part[key] ?? {}).flatMap((name) => strange(key, name, name))),
      ...Object.entries(part.cases ?? {}).flatMap(([property, values]) => Object.entries(values).flatMap(([value, inner]) => walk(inner, to, [...path, 'cases', property, value]))),
    ]
  }
  const { alias } = primary.manifest
  return alias ? walk(alias as AliasPart, undefined, ['alias']) : []
}

/** Why an input is refused before anything is asked or done. */
async function refusal(registry: Registry, { info }: Slot, input: JsonObject): Promise<string | undefined> {
  try {
    const { slot, raw } = await resolveCall(registry, info.tool, { ...(info.action !== undefined && { action: info.action }), ...input })
    await spell(slot, raw)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** The one example that texts of errors quote. */
async function quotedFaults(registry: Registry, slot: Slot): Promise<Fault[]> {
  const { example } = slot.primary.manifest
  const why = typeof example === 'object' ? await refusal(registry, slot, example) : undefined
  return why === undefined ? [] : [{ path: ['example'], problem: `\`example\` is no call of ${slot.info.slot}: ${why}`, fix: 'Correct `example`, or `input`.' }]
}

/** Inputs of examples are taken or refused as they say. */
async function exampleFaults(registry: Registry, { manifest }: Contribution, slot: Slot): Promise<{ at: number; problem: string }[]> {
  const faults: { at: number; problem: string }[] = []
  for (const [at, example] of (manifest.examples ?? []).entries()) {
    const { input, invalid, expect } = example as { input?: JsonObject; invalid?: boolean; expect?: JsonObject }
    if (!input || expect?.['ok'] === false) continue
    const why = await refusal(registry, slot, input)
    if (invalid === true ? why === undefined : why !== undefined) faults.push({ at, problem: why ?? 'it was to be refused, and is taken.' })
  }
  return faults
}
