import type { Effect, SlotInfo } from '../shapes/index.js'
import { propertiesOf } from './shape.js'

const reads = ['Read', 'Grep', 'Glob'] as const
const edits = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'] as const
/** Words of rules that speak about several slots at once. */
export const ruleFamilies = [...reads, ...edits, 'Bash', 'WebFetch', 'WebSearch', 'Skill', 'AskUserQuestion'] as const

/** Words of rules for every slot that has the effect. */
export const effectWords: readonly string[] = ['read', 'write', 'exec', 'net', 'ask'] satisfies Effect[]
export const isEffect = (name: string): name is Effect => effectWords.includes(name)
export const isFamily = (name: string): boolean => (ruleFamilies as readonly string[]).includes(name)

/** The families of a slot: what its manifest says, and what follows from its effects and from what it takes. */
export function familiesOf(slot: SlotInfo, declared: readonly string[]): readonly string[] {
  const onlyReads = slot.effects.every((effect) => effect === 'read') && propertiesOf(slot, 'workspace-path').length > 0
  return [
    ...(onlyReads || declared.includes('Read') ? reads : []),
    ...(slot.effects.includes('write') ? edits : []),
    ...(propertiesOf(slot, 'command').length > 0 ? ['Bash'] : []),
    ...declared.filter((name) => name !== 'Read'),
  ]
}

/** Whether a family leaves a slot open where it is all that is left: who may edit may not run programs. */
export const opensByFamily = (name: string, { families, effects }: SlotInfo): boolean =>
  families.includes(name) &&
  (!(edits as readonly string[]).includes(name) || effects.every((effect) => effect === 'read' || effect === 'write'))
