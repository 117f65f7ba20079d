import type { Workspace } from '../../../core/workspace/index.js'
import { createCertificate, listDifferences, hashFiles } from '../task/index.js'
import { readRecords } from '../history/index.js'
import { threadTable } from '../thread_state.js'

/**
 * Returns the certificate of a session as text, and the differences of its files since then. Throws
 * VT_SESSION_NOT_FOUND, VT_SESSION_FOREIGN, VT_CERTIFICATE_NONE.
 */
export async function createSessionCertificate(
  workspace: Workspace,
  id: string,
): Promise<{ text: string; different: string[] }> {
  const records = await readRecords(workspace, id)
  const at = records.findLast(({ kind }) => kind === 'verified')?.ts
  const state = threadTable.replay(records)
  const text = createCertificate(state, id, at ?? '')
  const { files = [] } = state.verified ?? {}
  return {
    text,
    different: listDifferences(
      { files, commands: [] },
      {
        files: await hashFiles(
          workspace,
          files.map(({ path }) => path),
        ),
        ran: [],
      },
    ),
  }
}
