import type { Workspace } from '../../../core/workspace/index.js'
import { certificateOf } from '../finish/index.js'
import { recordsOf } from '../session/index.js'
import { threadTable } from '../thread.js'

/** The certificate of a session, as the text that is kept. Throws VT_SESSION_NOT_FOUND, VT_SESSION_FOREIGN, VT_CERTIFICATE_NONE. */
export async function certificateOfSession(workspace: Workspace, id: string): Promise<string> {
  const records = await recordsOf(workspace, id)
  const at = records.findLast(({ kind }) => kind === 'verified')?.ts
  return certificateOf(threadTable.replay(records), id, at ?? '')
}
