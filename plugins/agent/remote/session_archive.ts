import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { isObject } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'
import { adoptSession, noteSession } from '../history/index.js'
import { openStore } from '../session/index.js'

const MAX_BYTES = 512 * 1024 * 1024
const LEFT_OUT = ['lock', '.gitignore']
const isSafeName = (name: string): boolean =>
  /^(?:[a-z]+\/)?[A-Za-z0-9_][\w.-]*$/.test(name) && !name.includes('..') && !name.startsWith('images/')

/** Packs the files of a session. */
export async function packSession(root: string, session_id: string): Promise<Buffer> {
  const folder = join(root, CALLS_FOLDER, session_id)
  const files: Record<string, string> = {}
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const name = join(entry.parentPath, entry.name).slice(folder.length + 1)
    if (!entry.isFile() || LEFT_OUT.includes(name) || !isSafeName(name)) continue
    files[name] = (await readFile(join(folder, name))).toString('base64')
  }
  return promisify(gzip)(JSON.stringify(files))
}

/**
 * Unpacks a session of another machine and makes it a session of this user. The caller has checked a signature over
 * the archive. Throws VT_SESSION_CORRUPT.
 */
export async function unpackSession(workspace: Workspace, session_id: string, archive: Uint8Array): Promise<void> {
  const text = (await promisify(gunzip)(archive, { maxOutputLength: MAX_BYTES })).toString()
  const files: unknown = JSON.parse(text)
  if (!isObject(files) || !Object.keys(files).every(isSafeName))
    throw new AgentError('VT_SESSION_CORRUPT', `The archive of session ${session_id} is damaged.`)
  const store = await openStore(workspace, session_id, { must_exist: false })
  try {
    for (const [name, content] of Object.entries(files)) {
      const bytes = Buffer.from(`${content as string}`, 'base64')
      await store.write(name, bytes.toString())
    }
    await adoptSession(store, session_id)
  } finally {
    await store.close()
  }
  await noteSession(session_id, workspace)
}
