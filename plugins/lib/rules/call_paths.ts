import type { Call, JsonObject, SlotInfo } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'
import type { Workspace } from '../../../core/workspace/index.js'

/** A path of a call as given and after following the links that exist. */
export interface CallPath {
  given: string
  resolved: string
}

/** Every path that a call names, in its properties or, where it writes, in the text of a patch. */
export async function callPaths(call: Call, { slot, workspace }: Pick<Context, 'slot' | 'workspace'>): Promise<CallPath[]> {
  const named = propertiesOf(slot, 'workspace-path').flatMap((name) => (call.input[name] ?? []) as string | string[])
  const paths = call.effects.includes('write') ? [...named, ...patchPaths(call.input)] : named
  return paths.map((path) => placeOf(path, workspace))
}

const known = new WeakMap<SlotInfo, Map<string, string[]>>()

/** The properties of a slot's input that have a format, themselves or as a list. */
export function propertiesOf(slot: SlotInfo, format: string): string[] {
  const formats = known.get(slot) ?? new Map<string, string[]>()
  known.set(slot, formats)
  const names = formats.get(format) ?? namesOf((slot.input.properties ?? {}) as Record<string, JsonObject>, format)
  formats.set(format, names)
  return names
}

const namesOf = (properties: Record<string, JsonObject>, format: string): string[] =>
  Object.keys(properties).filter((name) => formatOf(properties[name]) === format)

const formatOf = (property: JsonObject | undefined): unknown =>
  property?.format ?? (property?.items as JsonObject | undefined)?.format ??
  ((property?.anyOf ?? property?.oneOf) as JsonObject[] | undefined)?.map(formatOf).find((format) => format !== undefined)

const patchPaths = (input: Readonly<JsonObject>): string[] => patchedPaths(input).map(({ path }) => path)

/**
 * The files that a patch names in its own text, in either of the two notations, and whether it makes them. Read generously: a name
 * too many only asks once more.
 */
export function patchedPaths(input: Readonly<JsonObject>): { path: string; is_new: boolean }[] {
  const text = [input.input, input.patch].filter((value) => typeof value === 'string').join('\n')
  const sections = [...text.matchAll(/^\s*\*{3}\s*((?:Add|Update|Delete)\s+File|Move\s+to):\s*(.+?)\s*$/gim)].map(([, verb, path]) => ({ path: path!, is_new: /^(add|move)/i.test(verb!) }))
  const made = new Set([...text.matchAll(/^--- "?\/dev\/null[^\n]*\n\+\+\+ "?([^\t\n"]+)/gm)].map(([, path]) => path!.trim()))
  const diffs = [...text.matchAll(/^(---|\+\+\+|rename from|rename to|copy to) "?([^\t\n"]+)/gm)].map(([, verb, path]) => ({ path: path!.trim(), is_new: made.has(path!.trim()) || / to$/.test(verb!) }))
  return [...sections, ...diffs.filter(({ path }) => path !== '/dev/null').flatMap(({ path, is_new }) => [{ path, is_new }, { path: path.replace(/^[ab]\//, ''), is_new }])]
}

// Links are followed to where something would be made, too: a link may lead to what is not there yet.
function placeOf(path: string, workspace: Workspace): CallPath {
  const given = normalized(path, workspace)
  try {
    return { given, resolved: workspace.resolve(given) }
  } catch {
    return { given, resolved: given }
  }
}

// A path that leads out is left to the tool, which refuses it with the code that says so.
function normalized(path: string, workspace: Workspace): string {
  try {
    return workspace.normalize(path)
  } catch {
    return path
  }
}
