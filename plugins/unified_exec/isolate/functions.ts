import type { SlotInfo } from '../../../core/index.js'

/** The path of a function below the globals of a script, such as `search.grep`. */
export type FunctionPath = string[]

/** Words that no binding can have; as members they need no change. */
const RESERVED = new Set(
  `arguments await break case catch class const continue default delete do else enum eval export extends false finally
  for function if implements import in instanceof interface let new null package private protected public return static
  super switch this throw true try typeof undefined var void while with yield`.split(/\s+/),
)

/**
 * Names a function for each slot: `unified_search/grep` is `search.grep`, `mcp__docs__find` is `mcp.docs.find`, and a
 * tool without actions has its own name. Of two slots with the same path, the later one gets a number.
 */
export function nameFunctions(slots: readonly SlotInfo[]): { path: FunctionPath; slot: SlotInfo }[] {
  const taken = new Set<string>()
  return slots.map((slot) => ({ path: findFreePath(toPath(slot), taken), slot }))
}

function toPath({ tool, action, slot, group }: SlotInfo): FunctionPath {
  const [, server, name] =
    group !== undefined && tool.startsWith(`${group}__`)
      ? ['', group.replace(/^mcp__/, ''), tool.slice(group.length + 2)]
      : (/^mcp__(.+?)__(.+)$/s.exec(tool) ?? [])
  if (server !== undefined && name !== undefined) return ['mcp', toName(server), toName(name)]
  const short = tool.replace(/^unified_/, '')
  return action === undefined ? [toBinding(tool)] : [toBinding(short), toName(slot.slice(tool.length + 1))]
}

/** Converts a name to an identifier. */
const toName = (name: string): string => {
  const plain = name.replace(/[^\p{ID_Continue}$]/gu, '_')
  return /^[\p{ID_Start}$_]/u.test(plain) ? plain : `_${plain}`
}
const toBinding = (name: string): string => {
  const plain = toName(name)
  return RESERVED.has(plain) ? `${plain}_` : plain
}

function findFreePath(path: FunctionPath, taken: Set<string>): FunctionPath {
  const [last, ...above] = [path.at(-1)!, ...path.slice(0, -1)]
  let free = path
  for (let number = 2; taken.has(free.join('.')); number++) free = [...above, `${last}_${number}`]
  taken.add(free.join('.'))
  return free
}
