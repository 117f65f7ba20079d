import { omitUndefined } from '../../../core/shapes/index.js'
import { truncateLine, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { parseEventName, type Dialect } from '../../lib/hooks/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { holdsSecret, parseTextValue, type Names } from './values.js'

/** Reasons why hooks of a type do not run. */
const UNSERVED_REASONS: Record<string, string> = {
  prompt: 'because no model judges calls here',
  agent: 'because no agent judges calls here',
  mcp_tool: 'because hooks cannot call tools of servers here',
}

export interface HookFormat {
  dialect: Dialect
  names: Names
  /** Environment variables of the programs. */
  env: JsonObject
  /** The folder of the programs, if not the workspace. */
  cwd?: string
  /** Their units of time per second. */
  units?: number
}
/** A document with hooks, and its file. */
export interface HookDocument {
  document: JsonObject | undefined
  file: string
}

/** Adds the hooks of a package. Reports hooks for agents and models, and events that never happen here. */
export function addHooks(found: Package, sources: readonly HookDocument[], manner: HookFormat): void {
  const block: Record<string, JsonObject[]> = {}
  const never = new Set<string>()
  const types = new Set<string>()
  let from: string | undefined
  for (const { document, file } of sources) {
    const events = isObject(document?.['hooks']) ? document['hooks'] : (document ?? {})
    for (const [event, group] of listGroups(found, events, file)) {
      const known = parseEventName(event)
      const hooks = group.hooks.flatMap((entry) => toEntry(found, entry, file, manner, types) ?? [])
      if (known === undefined) never.add(event)
      else if (hooks.length > 0) {
        from ??= file
        ;(block[known] ??= []).push(toGroup(group.matcher, hooks, manner))
      }
    }
  }
  if (from !== undefined) found.addManifest('lifecycle_hooks', { kind: 'hooks', hooks: block }, from)
  const reasons = Object.fromEntries([...types].map((type) => [describeUnserved(type), 1]))
  const [place] = [...sources.map(({ file }) => file), found.place.root]
  found.reportUnsupported({ 'Lifecycle hooks for events that never happen here': [...never], ...reasons }, place!)
}

/** Returns whether hooks of an event can stop a call. */
const isGuardEvent = (event: string): boolean =>
  ['PreToolUse', 'PermissionRequest'].some((guard) => parseEventName(event) === parseEventName(guard))

/** Returns whether a hook names what runs: a command, an address, or a judge of another program. */
function isRunnable(entry: unknown): boolean {
  const { type = 'command', command, url } = isObject(entry) ? entry : {}
  if (type === 'command') return typeof command === 'string' && command !== ''
  return type === 'http' ? typeof url === 'string' : Object.hasOwn(UNSERVED_REASONS, toText(type))
}

/** Returns the groups of each event. Refuses the package for a malformed group of guards, and reports others. */
function* listGroups(
  found: Package,
  events: JsonObject,
  file: string,
): Generator<[event: string, group: { matcher: unknown; hooks: unknown[] }]> {
  for (const [event, groups] of Object.entries(events)) {
    if (!Array.isArray(groups)) {
      if (isGuardEvent(event)) found.refuse(`${file}: '${event}' is not a list.`, file)
      continue
    }
    for (const group of groups as unknown[]) {
      const { matcher, hooks } = isObject(group) ? group : {}
      if (isGuardEvent(event) && !(Array.isArray(hooks) && hooks.every(isRunnable)))
        found.refuse(`${file}: a group of ${event} has no list 'hooks' of commands or addresses.`, file)
      else if (Array.isArray(hooks)) yield [event, { matcher, hooks }]
      else found.reportInvalid(`${file}: a group of ${event} has no list 'hooks' and is left out.`, file)
    }
  }
}

const describeUnserved = (type: string): string =>
  `Lifecycle hooks of type ${truncateLine(type, 40)}, ${UNSERVED_REASONS[type] ?? 'because this type is unknown here'},`

const toGroup = (matcher: unknown, hooks: unknown[], { dialect, env, cwd }: HookFormat): JsonObject => ({
  ...(typeof matcher === 'string' && { matcher }),
  dialect,
  env,
  ...omitUndefined({ cwd }),
  hooks,
})

function toEntry(
  found: Package,
  entry: unknown,
  file: string,
  { names, units = 1 }: HookFormat,
  types: Set<string>,
): JsonObject | undefined {
  const { type = 'command', command, args, url, headers, allowedEnvVars, ...common } = isObject(entry) ? entry : {}
  const word = (text: unknown) => parseTextValue(toText(text), names, found.needs)
  const shared = pickSharedFields(common, units)
  try {
    if (type === 'command' && typeof command === 'string' && command !== '') {
      return { type, ...toCommandFields(command, args, word), ...shared }
    }
    if (type === 'http' && typeof url === 'string') {
      const values = Object.entries(isObject(headers) ? headers : {}).map(([name, text]) => [name, word(text)])
      return {
        type,
        url,
        headers: Object.fromEntries(values),
        ...(Array.isArray(allowedEnvVars) && { allowedEnvVars: allowedEnvVars.map(toText) }),
        ...shared,
      }
    }
    if (type === 'command' || type === 'http') throw new Error(`it has no ${type === 'http' ? 'url' : 'command'}`)
    types.add(toText(type))
    return undefined
  } catch (error) {
    return void found.reportInvalid(`${file}: a lifecycle hook is left out: ${(error as Error).message}.`, file)
  }
}

const pickSharedFields = ({ timeout, async, if: rule }: JsonObject, units: number): JsonObject => ({
  ...(typeof timeout === 'number' && { timeout_secs: timeout / units }),
  ...(async === true && { async }),
  ...(typeof rule === 'string' && { if: rule }),
})

type Word = (text: unknown) => ReturnType<typeof parseTextValue>

/**
 * Converts the command of a hook. Throws where a value of the user would reach the shell, or a secret the arguments.
 */
function toCommandFields(command: string, args: unknown, word: Word): JsonObject {
  if (!Array.isArray(args)) {
    // The shell would parse the value as code.
    if (/\$\{user_config\./.test(command)) throw new Error('it puts a value of the user into a shell command')
    return { command: command.replaceAll('${/}', '/') }
  }
  const words = [command, ...args].map(word)
  if (words.some(holdsSecret)) throw new Error('it puts a secret into its arguments, where others can read it')
  return { command: words[0], args: words.slice(1) }
}
