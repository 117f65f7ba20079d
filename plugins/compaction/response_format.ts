import type { Compactor, Result, SlotInfo } from '../../core/index.js'
import { truncateValue, valueLimit, valueText } from '../lib/base/index.js'

/** Members to leave out, by name; `true` drops the member, `*` stands for every item. */
type Tree = Map<string, Tree | true>

/**
 * `concise` leaves out what the slot marks as detailed. `detailed` leaves out the text that repeats it, so that the value is shown; of a
 * value that is much longer than its text, which shows a part, a part is shown too.
 */
const response_format: Compactor = (result, call, context) => {
  if (!result.ok) return result
  const format = call.input.response_format ?? context.settings.output.response_format
  return format === 'detailed' ? withoutText(result) : concise(result, context.slot)
}
export default response_format

function withoutText(result: Result & { ok: true }): Result {
  const { text, ...rest } = result
  if (text === undefined) return rest
  const { output } = rest
  // As many characters as the text has: what is shown never grows.
  const shown = truncateValue(output, valueLimit(text))
  return shown === output ? rest : { ...rest, text: valueText(output, text.length) }
}

function concise(result: Result & { ok: true }, slot: SlotInfo): Result {
  if (slot.detailed.length === 0) return result
  return { ...result, output: prune(result.output, treeOf(slot.detailed)) as typeof result.output }
}

function treeOf(paths: readonly string[]): Tree {
  const tree: Tree = new Map()
  for (const path of paths) plant(tree, path.split('/'))
  return tree
}

function plant(tree: Tree, [name = '', ...rest]: string[]): void {
  const grown = tree.get(name)
  if (rest.length === 0) tree.set(name, true)
  else if (grown !== true) {
    const branch = grown ?? new Map()
    tree.set(name, branch)
    plant(branch, rest)
  }
}

/** A copy of `value` without what `tree` names; what it does not reach is shared with the original. */
function prune(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) {
    const each = tree.get('*')
    return each === undefined || each === true ? value : value.map((item) => prune(item, each))
  }
  if (value === null || typeof value !== 'object') return value
  const every = tree.get('*')
  // Built without the members that go: an object from which one was deleted is slow for everybody behind us.
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
