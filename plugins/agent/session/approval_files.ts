import { unlink } from 'node:fs/promises'
import { writeState } from '../../../core/system/index.js'
import type { Approved } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { ownFolder } from '../../lib/state/index.js'

/** A question about a call that waits for somebody, `.vtcode/approvals/<token>.json`. */
export interface PendingApproval {
  token: string
  session_id: string
  call_id: string
  tool: string
  input: unknown
  reason: string
  /** The whole question, as everybody is asked it. */
  question?: string
  /** What an approval for the session would cover. */
  covers?: string
  created_at: string
  expires_at: string
  /** The program that was started to notify somebody. */
  notify?: readonly string[]
  /** The answer that `vtcode approvals` wrote. */
  answer?: Exclude<Approved, boolean | undefined>
}
const folder = '.vtcode/approvals'
const validToken = /^[0-9a-f]{32}$/

/** All open questions, the oldest first. */
export async function listApprovals(workspace: Workspace): Promise<PendingApproval[]> {
  const names = await workspace.names(folder).catch(() => [])
  const all = await Promise.all(names.map(({ name }) => readApproval(workspace, name.replace(/\.json$/, ''))))
  return all.filter((one) => one !== undefined).sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/** The question of a token; `undefined` for what is none of our tokens. */
export async function readApproval(workspace: Workspace, token: string): Promise<PendingApproval | undefined> {
  if (!validToken.test(token)) return undefined
  const text = await workspace.text(`${folder}/${token}.json`).catch(() => '')
  // A command could write the answer to its own question.
  const approval = workspace.seal.read('approval', token, text) as PendingApproval | undefined
  return approval?.token === token ? approval : undefined
}

export async function writeApproval(workspace: Workspace, approval: PendingApproval): Promise<void> {
  await using here = await ownFolder(workspace, folder)
  await writeState(`${here.ref}/${approval.token}.json`, workspace.seal.write('approval', approval.token, approval))
}

export async function removeApproval(workspace: Workspace, token: string): Promise<void> {
  await using here = await ownFolder(workspace, folder)
  await unlink(`${here.ref}/${token}.json`).catch(() => {})
}
