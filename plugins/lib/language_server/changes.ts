import { isUtf8 } from 'node:buffer'
import type { Workspace } from '../../../core/workspace/index.js'
import { findLatestChange, readKept, type Step } from '../files/index.js'
import type { EditedFile } from './use.js'

/** Returns the files that a call changed, with their text before, from the record that undo uses. */
export async function readChange(workspace: Workspace, session: string, call: string): Promise<EditedFile[]> {
  const change = await findLatestChange(workspace, session)
  if (change?.checkpoint.id !== call) return []
  const { folder, checkpoint } = change
  const files = await Promise.all(
    checkpoint.steps.map((step, index) => readStep(workspace, step, `${folder}/${index}`)),
  )
  return files.flat()
}

async function readStep(workspace: Workspace, step: Step, kept: string): Promise<EditedFile[]> {
  const read = async (path: string, sha256?: string) => {
    const bytes = await readKept(workspace, path, sha256).catch(() => undefined)
    return bytes && isUtf8(bytes) ? { before: bytes.toString().replace(/^\uFEFF/, '') } : {}
  }
  switch (step.op) {
    case 'write':
    case 'remove':
      return [{ path: step.path, ...('before' in step && step.before ? await read(kept, step.before.sha256) : {}) }]
    case 'rename':
      return [
        { path: step.from, ...(await read(step.to)) },
        { path: step.to, from: step.from, ...(step.before ? await read(kept, step.before.sha256) : {}) },
      ]
    case 'take':
    case 'create':
      return [{ path: step.path }]
  }
}
