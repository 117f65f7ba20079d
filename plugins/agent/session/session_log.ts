import { readdir } from 'node:fs/promises'
import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, openPrivateFile, readPrivateFile } from '../../lib/state/index.js'
import { AgentError, type Store } from '../base/index.js'
import { isValidSessionId } from './store.js'

const pieceBytes = 256 * 1024

/** Lists the event files of a session, the oldest first. Large logs were moved to a numbered file. */
async function listLogFiles(ref: string): Promise<string[]> {
  const numbered = (await readdir(ref)).flatMap((name) => /^events\.(\d+)\.jsonl$/.exec(name)?.[1] ?? []).map(Number)
  return [...numbered.sort((a, b) => a - b).map((number) => `events.${number}.jsonl`), 'events.jsonl']
}

/** Returns whether a session has an event log. */
const hasEvents = async (workspace: Workspace, id: string): Promise<boolean> =>
  isValidSessionId(id) &&
  (await workspace.stat(`${CALLS_FOLDER}/${id}/events.jsonl`).catch(() => undefined)) !== undefined

/** Yields all events of a session as bytes, in order. Throws VT_SESSION_NOT_FOUND. */
export async function* readEventBytes(workspace: Workspace, id: string): AsyncGenerator<Buffer> {
  if (!(await hasEvents(workspace, id)))
    throw new AgentError('VT_SESSION_NOT_FOUND', `Session not found: '${id}' has left no events in this workspace.`)
  await using folder = await workspace.openDirectory(`${CALLS_FOLDER}/${id}`)
  for (const name of await listLogFiles(folder.ref)) {
    const file = await openPrivateFile(`${folder.ref}/${name}`)
    try {
      const buffer = Buffer.alloc(pieceBytes)
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, pieceBytes, null)
        if (bytesRead === 0) break
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }
}

/** Reads a file of a session's folder; `undefined` if it is missing, not ours, or outside the folder. */
export async function readSessionFile(workspace: Workspace, id: string, path: string): Promise<string | undefined> {
  if (!isValidSessionId(id) || !/^(?:(?:prompts|images)\/)?[\w.-]+$/.test(path) || path.includes('..')) return undefined
  try {
    const [name, folder] = path.split('/').reverse()
    await using handle = await workspace.openDirectory(
      folder === undefined ? `${CALLS_FOLDER}/${id}` : `${CALLS_FOLDER}/${id}/${folder}`,
    )
    return await readPrivateFile(`${handle.ref}/${name}`)
  } catch {
    return undefined
  }
}

/** Creates access to the records of an open session, for exports made from its log. */
export const createRecordPlace = (workspace: Workspace, store: Pick<Store, 'write'>, id: string) => ({
  bytes: () => readEventBytes(workspace, id),
  files: { read: (path: string) => readSessionFile(workspace, id, path) },
  write: (name: string, text: string): Promise<void> => store.write(name, text),
})
