import { relative, resolve } from 'node:path'
import { findOwnPaths } from '../../../core/trust/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { findCommandWrites, listPlaceNames, type CallFacts } from '../../lib/rules/index.js'
import { findConfiguredPaths, judgePath, createExistenceCheck, type SteeringVerdict } from '../../lib/steering/index.js'

/** Slots that change a folder with its content. */
const FOLDER_SLOTS = ['unified_file/move', 'unified_file/copy', 'unified_file/delete']

/** Returns whether a call of a slot changes folders with their content. */
export const isFolderSlot = (slot: string): boolean => FOLDER_SLOTS.includes(slot)

/** Steering files that a call writes. */
export interface JudgedWrites {
  verdicts: SteeringVerdict[]
  /** Clause about a target that only the run decides. */
  unclear?: string
  /**
   * Returns the first steering file that is an operand of a command or below one. Present if there are such operands.
   * Searches folders, so callers check first whether a sandbox protects the files.
   */
  findOperand?: () => SteeringVerdict | undefined
}

/** Judges the paths that a call writes as steering files. */
export async function judgeWrites(facts: CallFacts): Promise<JudgedWrites> {
  const { call, workspace } = facts
  const { root } = workspace
  const written = facts.hasCommand ? await findCommandWrites(facts) : { names: [], operands: [] }
  const names = [...(call.effects.includes('write') ? listPlaceNames(call) : []), ...written.names]
  const judge = await createPathJudge([...names, ...written.operands], workspace)
  const findOperand = (): SteeringVerdict | undefined => {
    const paths = new Set(written.operands.map((name) => relative(root, resolve(root, name)) || '.'))
    for (const path of paths) {
      const found = judge(path, true)
      if (found) return found
    }
    return undefined
  }
  return {
    verdicts: names.flatMap((name) => judge(name, isFolderSlot(call.slot)) ?? []),
    ...(written.unclear !== undefined && { unclear: written.unclear }),
    ...(written.operands.length > 0 && { findOperand }),
  }
}

/** Judges these paths as steering files, with `whole` also everything below them. */
export async function judgePlaces(
  names: readonly string[],
  workspace: Workspace,
  whole = false,
): Promise<SteeringVerdict[]> {
  const judge = await createPathJudge(names, workspace)
  return names.flatMap((name) => judge(name, whole) ?? [])
}

/** Returns a function that judges these paths, each alone or with everything below it. */
async function createPathJudge(
  names: readonly string[],
  workspace: Workspace,
): Promise<(name: string, whole: boolean) => SteeringVerdict | undefined> {
  const configured = names.length > 0 ? await findConfiguredPaths(workspace.root) : []
  const own = names.length > 0 ? findOwnPaths(workspace.root) : []
  const has = createExistenceCheck(names, workspace.root)
  return (name, whole) => judgePath(name, workspace, { whole, configured, own, has })
}
