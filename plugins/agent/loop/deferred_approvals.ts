import { findProgram, searchPath } from '../../../core/system/index.js'
import { withoutValues } from '../../../core/text/index.js'
import type { Approval, Approved } from '../../../core/contract/index.js'
import { runShort } from '../../lib/process/index.js'
import { uuidOf, type AgentSettings, type CallPart } from '../base/index.js'
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
 * Asks somebody who is not there: the question lies in a file until `vtcode approvals` answers it or its time is over. A process that is
 * killed meanwhile leaves the question; whoever resumes the session waits on, or finds the answer.
 */
export class DeferredApprovals {
  private readonly settings: AgentSettings['harness']['async_approval']

  /** `asker`: what its questions begin with. */
  constructor(
    private readonly thread: Pick<Conversation, 'workspace' | 'session_id' | 'providers' | 'settings'>,
    private readonly asker: string | undefined,
  ) {
    this.settings = thread.settings.harness.async_approval
  }

  /** Does a call still wait? Then nothing of it was done. */
  async waits(call_id: string): Promise<boolean> {
    return (await this.open(call_id)) !== undefined
  }

  async ask(
    { call_id, name, input }: CallPart,
    { reasons, question, covers }: Approval,
    signal: AbortSignal,
  ): Promise<Approved> {
    const whole =
      this.asker === undefined
        ? { reason: reasons.join(' '), question }
        : { reason: [this.asker, ...reasons].join(' '), question: `${this.asker}\n${question}` }
    const pending =
      (await this.open(call_id)) ??
      (await this.put({ call_id, tool: name, input, ...whole, ...(covers !== undefined && { covers }) }))
    try {
      return await this.answer(pending, signal)
    } finally {
      await removeApproval(this.thread.workspace, pending.token)
    }
  }

  private async answer({ token, expires_at }: PendingApproval, signal: AbortSignal): Promise<Approved> {
    const { workspace, providers } = this.thread
    const { clock } = providers
    for (;;) {
      const now = await readApproval(workspace, token)
      if (!now) return { decision: 'deny', unanswered: 'The question was taken away before anybody answered.' }
      if (now.answer) return now.answer
      if (clock.now() >= Date.parse(expires_at))
        return { decision: 'deny', unanswered: `Nobody answered within ${this.settings.timeout_secs} s.` }
      await clock.sleep(every_ms, signal)
    }
  }

  private async put(
    question: Pick<PendingApproval, 'call_id' | 'tool' | 'input' | 'reason' | 'question' | 'covers'>,
  ): Promise<PendingApproval> {
    const { timeout_secs, notify_command } = this.settings
    const { workspace, session_id, providers } = this.thread
    const now = providers.clock.now()
    const approval: PendingApproval = {
      token: uuidOf(providers.random).replaceAll('-', ''),
      session_id,
      ...question,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + timeout_secs * 1000).toISOString(),
      ...(notify_command && { notify: notify_command }),
    }
    await writeApproval(workspace, JSON.parse(withoutValues(JSON.stringify(approval))) as PendingApproval)
    if (notify_command) void this.notify(notify_command, approval)
    return approval
  }

  private async open(call_id: string): Promise<PendingApproval | undefined> {
    const { workspace, session_id } = this.thread
    return (await listApprovals(workspace)).find((one) => one.session_id === session_id && one.call_id === call_id)
  }

  /** The question goes to its standard input. What becomes of the notice changes nothing. */
  private async notify([name = '', ...args]: readonly string[], approval: PendingApproval): Promise<void> {
    const { workspace, providers } = this.thread
    const file = name.startsWith('/') ? name : findProgram(name, searchPath(providers.env['PATH'], workspace.root))
    if (!file) return
    const program = { file, args, cwd: workspace.root, input: Buffer.from(withoutValues(JSON.stringify(approval))) }
    await runShort(program, { signal: new AbortController().signal, seconds: 30, most: 1_048_576 }).catch(() => {})
  }
}

/** Deferred approvals for a thread that has them; `undefined` where questions are answered at once or not at all. */
export const deferredFor = (thread: Conversation, asker?: string): DeferredApprovals | undefined =>
  thread.providers.approval.deferred && thread.providers.session.kept ? new DeferredApprovals(thread, asker) : undefined
