import { findCommandWrites, listPlaceNames, type CallFacts } from '../../lib/rules/index.js'
import { configuredPlaces, judgePath, onceWritten, type SteeringVerdict } from '../../lib/steering/index.js'

/** Slots that take a folder with all it holds. */
const takesFolders = ['unified_file/move', 'unified_file/copy', 'unified_file/delete']

/** What of the places that a call writes steers other programs; `unclear`: what of it cannot be determined, as a clause. */
export async function steeredBy(facts: CallFacts): Promise<{ verdicts: SteeringVerdict[]; unclear?: string }> {
  const { call, workspace } = facts
  const written = facts.hasCommand ? await findCommandWrites(facts) : { names: [] }
  const names = [...(call.effects.includes('write') ? listPlaceNames(call) : []), ...written.names]
  const configured = names.length > 0 ? await configuredPlaces(workspace.root) : []
  const has = onceWritten(names, workspace.root)
  const whole = takesFolders.includes(call.slot)
  const verdicts = names.flatMap((name) => judgePath(name, workspace, { whole, configured, has }) ?? [])
  return { verdicts, ...(written.unclear !== undefined && { unclear: written.unclear }) }
}
