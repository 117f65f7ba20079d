import { definedOnly } from '../../../core/shapes/index.js'
import { shortLine, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { parseEventName, type Dialect } from '../../lib/hooks/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { holdsSecret, wordedValue, type Names } from './values.js'

/** Why hooks of a type are not run. */
const whyNot: Record<string, string> = {
  prompt: 'as no model judges calls here',
  agent: 'as no agent is started to judge calls here',
  mcp_tool: 'as hooks call no tools of servers here',
}

export interface Manner {
  dialect: Dialect
  names: Names
  /** Variables of their programs. */
  env: JsonObject
  /** Where their programs run, if not in the workspace. */
  cwd?: string
  /** How many of their units of time make a second. */
  units?: number
}
/** A document that holds hooks, and the file it stands in. */
export interface HookDocument {
  document: JsonObject | undefined
  file: string
}

/** Hooks run by agents and models, which there are none of here, and events that never happen. */
export function addHooks(found: Package, sources: readonly HookDocument[], manner: Manner): void {
  const block: Record<string, JsonObject[]> = {}
  const never = new Set<string>()
  const types = new Set<string>()
  let from: string | undefined
  for (const { document, file } of sources) {
    const events = isObject(document?.['hooks']) ? document['hooks'] : (document ?? {})
    for (const [event, groups] of Object.entries(events)) {
      if (!Array.isArray(groups)) continue
      const known = parseEventName(event)
      for (const group of groups) {
        if (!isObject(group) || !Array.isArray(group['hooks'])) {
          found.invalid(`${file}: a group of ${event} holds no list of hooks and is left out.`, file)
          continue
        }
        const hooks = group['hooks'].flatMap((entry) => entryOf(found, entry, file, manner, types) ?? [])
        if (known === undefined) never.add(event)
        else if (hooks.length > 0) {
          from ??= file
          ;(block[known] ??= []).push(groupOf(group['matcher'], hooks, manner))
        }
      }
    }
  }
  if (from !== undefined) found.addManifest('lifecycle_hooks', { kind: 'hooks', hooks: block }, from)
  const reasons = Object.fromEntries([...types].map((type) => [unservedText(type), 1]))
  found.unsupported({ 'Lifecycle hooks for what never happens here': [...never], ...reasons }, sources[0]!.file)
}

const unservedText = (type: string): string =>
  `Lifecycle hooks of type ${shortLine(type, 40)}, ${whyNot[type] ?? 'which nobody runs here'},`

const groupOf = (matcher: unknown, hooks: unknown[], { dialect, env, cwd }: Manner): JsonObject => ({
  ...(typeof matcher === 'string' && { matcher }),
  dialect,
  env,
  ...definedOnly({ cwd }),
  hooks,
})

function entryOf(
  found: Package,
  entry: unknown,
  file: string,
  { names, units = 1 }: Manner,
  types: Set<string>,
): JsonObject | undefined {
  const { type = 'command', command, args, url, headers, allowedEnvVars, ...common } = isObject(entry) ? entry : {}
  const word = (text: unknown) => wordedValue(toText(text), names, found.needs)
  const shared = sharedFields(common, units)
  try {
    if (type === 'command' && typeof command === 'string' && command !== '') {
      return { type, ...commandFields(command, args, word), ...shared }
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
    return void found.invalid(`${file}: a lifecycle hook is left out: ${(error as Error).message}.`, file)
  }
}

const sharedFields = ({ timeout, async, if: rule }: JsonObject, units: number): JsonObject => ({
  ...(typeof timeout === 'number' && { timeout_secs: timeout / units }),
  ...(async === true && { async }),
  ...(typeof rule === 'string' && { if: rule }),
})

type Word = (text: unknown) => ReturnType<typeof wordedValue>

/** The command of a hook. Throws where a value of the user would reach the shell, or a secret the arguments. */
function commandFields(command: string, args: unknown, word: Word): JsonObject {
  if (!Array.isArray(args)) {
    // The shell would read the value as a part of the program.
    if (/\$\{user_config\./.test(command)) throw new Error('it puts a value of the user into a line for the shell')
    return { command: command.replaceAll('${/}', '/') }
  }
  const words = [command, ...args].map(word)
  if (words.some(holdsSecret)) throw new Error('it puts a secret into its arguments, where others can read it')
  return { command: words[0], args: words.slice(1) }
}
