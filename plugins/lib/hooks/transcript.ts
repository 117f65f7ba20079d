import { constants, existsSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkspace } from '../../../core/workspace/index.js'
import { callsFolder, folderName, openOwn, ownFolder } from '../state/index.js'

/** What hooks read of a conversation, in the form of Claude Code: the agent writes it beside its journal. */
export const transcriptFile = 'transcript.jsonl'

/** Workspace-relative. */
export const transcriptOf = (session: string): string => `${callsFolder}/${folderName(session)}/${transcriptFile}`

/** Hooks read it at once: where there is no conversation it is there and empty. A folder that cannot be written to has none. */
export async function haveTranscript(root: string, home: string, session: string): Promise<void> {
  if (existsSync(join(root, transcriptOf(session)))) return
  const workspace = openWorkspace(root, { home })
  try {
    await using folder = await ownFolder(workspace, `${callsFolder}/${folderName(session)}`)
    const file = await openOwn(`${folder.ref}/${transcriptFile}`, constants.O_WRONLY | constants.O_CREAT)
    await file.close()
  } catch {
    // Nothing depends on it.
  } finally {
    workspace.close()
  }
}
