import { findProgram, listSearchFolders, sha256 } from '../../../core/system/index.js'
import { redact } from '../../../core/text/index.js'
import type { Approval, ApprovalAnswer } from '../../../core/contract/index.js'
import { runShort } from '../../lib/process/index.js'
import { createUuid, type AgentSettings, type CallPart } from '../base/index.js'
import {
  readApproval,
  listApprovals,
  removeApproval,
  writeApproval,
  type Conversation,
  type PendingApproval,
} from '../session/index.js'

const every_ms = 500

/**
 * Stores a question in a file until `vtcode approvals` answers it or it expires. The question survives a killed
 * process; a resumed session continues to wait for it.
 */
export class DeferredApprovals {
  private readonly settings: AgentSettings['harness']['async_approval']

  /** `asker`: the first line of its questions. */
  constructor(
    private readonly thread: Pick<Conversation, 'workspace' | 'session_id' | 'providers' | 'settings'>,
    private readonly asker: string | undefined,
  ) {
    this.settings = thread.settings.harness.async_approval
  }

  /** Returns whether a call is still pending; then nothing of it was done. */
  async isPending(call_id: string): Promise<boolean> {
    return (await this.listPending(call_id)).length > 0
  }

  /** Removes the questions of a call that is not made again. */
  async withdraw(call_id: string): Promise<void> {
    for (const { token } of await this.listPending(call_id)) await removeApproval(this.thread.workspace, token)
  }

  async ask(
    { call_id, name, input }: CallPart,
    { call, reasons, question, covers }: Approval,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer> {
    const whole =
      this.asker === undefined
        ? { reason: reasons.join(' '), question }
        : { reason: [this.asker, ...reasons].join(' '), question: `${this.asker}\n${question}` }
    // A script asks about several calls under one id: an answer counts for the call that was shown.
    const digest = sha256(JSON.stringify([call.slot, call.input]))
    const pending =
      (await this.listPending(call_id)).find((one) => one.digest === digest) ??
      (await this.put({ call_id, tool: name, input, digest, ...whole, ...(covers !== undefined && { covers }) }))
    try {
      return await this.answer(pending, signal)
    } finally {
      await removeApproval(this.thread.workspace, pending.token)
    }
  }

  private async answer({ token, expires_at }: PendingApproval, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { workspace, providers } = this.thread
    const { clock } = providers
    for (;;) {
      const now = await readApproval(workspace, token)
      if (!now) return { decision: 'deny', unanswered: 'The question was removed before an answer.' }
      if (now.answer) return now.answer
      if (clock.now() >= Date.parse(expires_at))
        return { decision: 'deny', unanswered: `No answer within ${this.settings.timeout_secs} s.` }
      await clock.sleep(every_ms, signal)
    }
  }

  private async put(
    question: Omit<PendingApproval, 'token' | 'session_id' | 'created_at' | 'expires_at' | 'notify' | 'answer'>,
  ): Promise<PendingApproval> {
    const { timeout_secs, notify_command } = this.settings
    const { workspace, session_id, providers } = this.thread
    const now = providers.clock.now()
    const approval: PendingApproval = {
      token: createUuid(providers.random).replaceAll('-', ''),
      session_id,
      ...question,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + timeout_secs * 1000).toISOString(),
      ...(notify_command && { notify: notify_command }),
    }
    await writeApproval(workspace, redact(approval))
    if (notify_command) void this.notify(notify_command, approval)
    return approval
  }

  private async listPending(call_id: string): Promise<PendingApproval[]> {
    const { workspace, session_id } = this.thread
    return (await listApprovals(workspace)).filter((one) => one.session_id === session_id && one.call_id === call_id)
  }

  /** Starts the notify command with the question on its standard input; its failure changes nothing. */
  private async notify([name = '', ...args]: readonly string[], approval: PendingApproval): Promise<void> {
    const { workspace, providers } = this.thread
    const file = name.startsWith('/')
      ? name
      : findProgram(name, listSearchFolders(providers.env['PATH'], workspace.root))
    if (!file) return
    const program = { file, args, cwd: workspace.root, input: Buffer.from(JSON.stringify(redact(approval))) }
    await runShort(program, { signal: new AbortController().signal, seconds: 30, most: 1_048_576 }).catch(() => {})
  }
}

/** Creates deferred approvals for a thread that stores questions; else returns `undefined`. */
export const createDeferredApprovals = (thread: Conversation, asker?: string): DeferredApprovals | undefined =>
  thread.providers.approval.deferred && thread.providers.session.kept ? new DeferredApprovals(thread, asker) : undefined
