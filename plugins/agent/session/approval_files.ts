import { unlink } from 'node:fs/promises'
import { writeState } from '../../../core/system/index.js'
import type { ApprovalAnswer } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { openPrivateFolder } from '../../lib/state/index.js'

/** A pending approval of a call, `.vtcode/approvals/<token>.json`. */
export interface PendingApproval {
  token: string
  session_id: string
  call_id: string
  tool: string
  input: unknown
  reason: string
  /** The whole question, worded as on every surface. */
  question?: string
  /** Digest of the slot and the input that the answer is about. A script asks about its inner calls. */
  digest: string
  /** The extent of an approval for the session. */
  covers?: string
  created_at: string
  expires_at: string
  /** The program that was started to notify a person. */
  notify?: readonly string[]
  /** The answer that `vtcode approvals` wrote. */
  answer?: Exclude<ApprovalAnswer, boolean | undefined>
}
const folder = '.vtcode/approvals'
const validToken = /^[0-9a-f]{32}$/

/** Lists all approvals that are not yet used, the oldest first. */
export async function listApprovals(workspace: Workspace): Promise<PendingApproval[]> {
  const names = await workspace.listNames(folder).catch(() => [])
  const all = await Promise.all(names.map(({ name }) => readApproval(workspace, name.replace(/\.json$/, ''))))
  return all.filter((one) => one !== undefined).sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/** Reads the approval of a token; `undefined` if the token is invalid, or its file is missing or not sealed. */
export async function readApproval(workspace: Workspace, token: string): Promise<PendingApproval | undefined> {
  if (!validToken.test(token)) return undefined
  const text = await workspace.readText(`${folder}/${token}.json`).catch(() => '')
  // Without the seal, a command could write the answer to its own question.
  const approval = workspace.seal.read('approval', token, text) as PendingApproval | undefined
  return approval?.token === token ? approval : undefined
}

export async function writeApproval(workspace: Workspace, approval: PendingApproval): Promise<void> {
  await using here = await openPrivateFolder(workspace, folder)
  await writeState(`${here.ref}/${approval.token}.json`, workspace.seal.write('approval', approval.token, approval))
}

export async function removeApproval(workspace: Workspace, token: string): Promise<void> {
  await using here = await openPrivateFolder(workspace, folder)
  await unlink(`${here.ref}/${token}.json`).catch(() => {})
}
