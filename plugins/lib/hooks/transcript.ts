import { constants, existsSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, toFolderName, openPrivateFile, openPrivateFolder } from '../state/index.js'

/** Transcript of a conversation for hooks in the format of Claude Code. The agent writes it next to its journal. */
export const transcriptFile = 'transcript.jsonl'

/** Returns the workspace-relative path of a transcript. */
export const toTranscriptPath = (session: string): string =>
  `${CALLS_FOLDER}/${toFolderName(session)}/${transcriptFile}`

/**
 * Creates an empty transcript if there is no conversation, because hooks read it immediately. A read-only folder gets
 * none.
 */
export async function ensureTranscript(root: string, home: string, session: string): Promise<void> {
  if (existsSync(join(root, toTranscriptPath(session)))) return
  const workspace = openWorkspace(root, { home })
  try {
    await using folder = await openPrivateFolder(workspace, `${CALLS_FOLDER}/${toFolderName(session)}`)
    const file = await openPrivateFile(`${folder.ref}/${transcriptFile}`, constants.O_WRONLY | constants.O_CREAT)
    await file.close()
  } catch {
    // The transcript is optional.
  } finally {
    workspace.close()
  }
}
