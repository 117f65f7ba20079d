import type { Call, Context, JsonObject, Workspace } from '../../../core/index.js'

/** A path of a call as given and after following the links that exist. */
export interface Place {
  given: string
  resolved: string
}

/** What rules may ask about one call; everything that costs something is found out once, when first asked for. */
export interface Facts {
  readonly call: Call
  readonly workspace: Workspace
  readonly hasPath: boolean
  readonly hasCommand: boolean
  places(): Promise<Place[]>
  commands(): (string | string[])[]
  host(): string | undefined
}

export function factsOf(call: Call, context: Context): Facts {
  const properties = (context.slot.input.properties ?? {}) as Record<string, JsonObject>
  const named = (format: string): string[] => Object.keys(properties).filter((name) => formatOf(properties[name]) === format)
  let places: Promise<Place[]> | undefined
  const paths = (): string[] => [
    ...named('workspace-path').flatMap((name) => (call.input[name] ?? []) as string | string[]),
    ...(call.effects.includes('write') ? patchPaths(call.input) : []),
  ]
  return {
    call,
    workspace: context.workspace,
    hasPath: named('workspace-path').length > 0,
    hasCommand: named('command').length > 0,
    places: () => (places ??= Promise.all(paths().map((path) => placeOf(path, context.workspace)))),
    commands: () => named('command').flatMap((name) => (call.input[name] === undefined ? [] : [withArguments(call.input, name)])),
    host: () => hostOf(call.input.url),
  }
}

const formatOf = (property: JsonObject | undefined): unknown =>
  property?.format ?? (property?.items as JsonObject | undefined)?.format ??
  ((property?.anyOf ?? property?.oneOf) as JsonObject[] | undefined)?.map(formatOf).find((format) => format !== undefined)

/** `args` beside a command are its further words, never shell. */
function withArguments(input: Readonly<JsonObject>, name: string): string | string[] {
  const command = input[name] as string | string[]
  const further = input.args
  return Array.isArray(further) ? [command, further as string[]].flat() : command
}

// A patch names its files in its own text, in either of the two notations.
function patchPaths(input: Readonly<JsonObject>): string[] {
  const text = [input.input, input.patch].filter((value) => typeof value === 'string').join('\n')
  const sections = [...text.matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$/gm)].map((match) => match[1]!)
  const diffs = [...text.matchAll(/^(?:---|\+\+\+) (?:[ab]\/)?([^\t\n]+)/gm)].map((match) => match[1]!.trim())
  return [...sections, ...diffs.filter((path) => path !== '/dev/null')]
}

// What exists is opened to learn where it really is; of a new file it is the nearest folder that exists.
async function placeOf(path: string, workspace: Workspace): Promise<Place> {
  const given = workspace.normalize(path)
  const segments = given.split('/')
  for (let length = segments.length; length > 0; length -= 1) {
    const existing = segments.slice(0, length).join('/')
    const handle = await workspace.open(existing).catch(() => undefined)
    if (!handle) continue
    await handle.close()
    return { given, resolved: [handle.resolved, ...segments.slice(length)].join('/').replace(/^\.\//, '') }
  }
  return { given, resolved: given }
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined
}
