import { findCommandWrites, listPlaceNames, type CallFacts } from '../../lib/rules/index.js'
import { findConfiguredPaths, judgePath, createExistenceCheck, type SteeringVerdict } from '../../lib/steering/index.js'

/** Slots that change a folder with its content. */
const FOLDER_SLOTS = ['unified_file/move', 'unified_file/copy', 'unified_file/delete']

/**
 * Judges the paths that a call writes as steering files. `unclear`: clause about a target that only the run decides.
 */
export async function judgeWrites(facts: CallFacts): Promise<{ verdicts: SteeringVerdict[]; unclear?: string }> {
  const { call, workspace } = facts
  const written = facts.hasCommand ? await findCommandWrites(facts) : { names: [] }
  const names = [...(call.effects.includes('write') ? listPlaceNames(call) : []), ...written.names]
  const configured = names.length > 0 ? await findConfiguredPaths(workspace.root) : []
  const has = createExistenceCheck(names, workspace.root)
  const whole = FOLDER_SLOTS.includes(call.slot)
  const verdicts = names.flatMap((name) => judgePath(name, workspace, { whole, configured, has }) ?? [])
  return { verdicts, ...(written.unclear !== undefined && { unclear: written.unclear }) }
}
