import type { Effect, SlotInfo } from '../shapes/index.js'
import { listPropertiesWithFormat } from './shape.js'

const reads = ['Read', 'Grep', 'Glob'] as const
const edits = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'] as const
/** Words of rules that cover several slots. */
export const ruleFamilies = [...reads, ...edits, 'Bash', 'WebFetch', 'WebSearch', 'Skill', 'AskUserQuestion'] as const

/** Words of rules that cover every slot with the effect. */
export const effectWords: readonly string[] = ['read', 'write', 'exec', 'net', 'ask'] satisfies Effect[]
export const isEffect = (name: string): name is Effect => effectWords.includes(name)
export const isFamily = (name: string): boolean => (ruleFamilies as readonly string[]).includes(name)

/** Lists the families of a slot: those of its manifest, and those that follow from its effects and its input. */
export function listFamilies(slot: SlotInfo, declared: readonly string[]): readonly string[] {
  const onlyReads =
    slot.effects.every((effect) => effect === 'read') && listPropertiesWithFormat(slot, 'workspace-path').length > 0
  return [
    ...(onlyReads || declared.includes('Read') ? reads : []),
    ...(slot.effects.includes('write') ? edits : []),
    ...(listPropertiesWithFormat(slot, 'command').length > 0 ? ['Bash'] : []),
    ...declared.filter((name) => name !== 'Read'),
  ]
}

/** Returns whether a family alone permits a slot. A family of edits does not permit programs or network access. */
export const isOpenedWithFamily = (name: string, { families, effects }: SlotInfo): boolean =>
  families.includes(name) &&
  (!(edits as readonly string[]).includes(name) || effects.every((effect) => effect === 'read' || effect === 'write'))
