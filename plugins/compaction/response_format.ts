import type { Call, Compactor, Result, SlotInfo } from '../../core/index.js'
import { formatValue, truncateLikeText, truncateValue } from '../lib/base/index.js'

/** Members to drop, by name: `true` drops the member, `*` stands for every item. */
type Tree = Map<string, Tree | true>

/**
 * `concise` drops the members that the slot marks as detailed. `detailed` drops the text, so that the value is shown. A
 * value much longer than its text is shown in part.
 */
const response_format: Compactor = (result, call, context) => {
  if (!result.ok) return result
  const format = call.input.response_format ?? context.settings.output.response_format
  return format === 'detailed' ? dropText(result, call, context.slot) : dropDetails(result, context.slot)
}
export default response_format

function dropText(
  result: Result & { ok: true },
  { given }: Call,
  { tool, action, input }: SlotInfo,
): Result & { ok: true } {
  const { text, ...rest } = result
  if (text === undefined) return rest
  const { output } = rest
  const next = { tool, input: { ...(action !== undefined && { action }), ...given } }
  const call = { next, schema: input }
  // The shown value gets as many characters as the text, so it never grows.
  return truncateLikeText(output, text, call) === output
    ? rest
    : { ...rest, text: formatValue(truncateValue(output, text.length, call)) }
}

function dropDetails(result: Result & { ok: true }, slot: SlotInfo): Result {
  if (slot.detailed.length === 0) return result
  return { ...result, output: prune(result.output, buildTree(slot.detailed)) as typeof result.output }
}

function buildTree(paths: readonly string[]): Tree {
  const tree: Tree = new Map()
  for (const path of paths) addPath(tree, path.split('/'))
  return tree
}

function addPath(tree: Tree, [name = '', ...rest]: string[]): void {
  const grown = tree.get(name)
  if (rest.length === 0) tree.set(name, true)
  else if (grown !== true) {
    const branch = grown ?? new Map()
    tree.set(name, branch)
    addPath(branch, rest)
  }
}

/** Returns a copy of `value` without the members in `tree`; the rest is shared with the original. */
function prune(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) {
    const each = tree.get('*')
    return each === undefined || each === true ? value : value.map((item) => prune(item, each))
  }
  if (value === null || typeof value !== 'object') return value
  const every = tree.get('*')
  // Built without the dropped members: an object with deleted members is slow for later code.
  const pruned: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const branch = tree.get(name) ?? every
    if (branch === true) continue
    const kept = branch ? prune(member, branch) : member
    if (name === '__proto__')
      Object.defineProperty(pruned, name, { value: kept, enumerable: true, configurable: true, writable: true })
    else pruned[name] = kept
  }
  return pruned
}
