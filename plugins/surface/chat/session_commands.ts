import { openWorkspace } from '../../../core/index.js'
import {
  describeModel,
  requireOwnSession,
  listSessions,
  listModelChoices,
  revert,
  listPastTurns,
  type RevertScope,
} from '../../agent/cli/index.js'
import { createAgent, type AgentOptions } from '../../agent/index.js'
import { formatAge, toOneLine, say } from '../../lib/terminal/index.js'
import type { ChatSession } from './chat_session.js'

async function withWorkspace<T>(
  { kernel }: ChatSession,
  use: (workspace: ReturnType<typeof openWorkspace>) => Promise<T>,
): Promise<T> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    return await use(workspace)
  } finally {
    workspace.close()
  }
}

/** `/model`: continues the conversation with another model. */
export async function switchModel(chat: ChatSession, rest: string): Promise<void> {
  const { kernel, io, agent, questions } = chat
  const choices = listModelChoices(kernel, io.env).map((model) => ({
    value: model.id,
    label: model.id,
    description: describeModel(model),
  }))
  const id = rest === '' ? await questions.pick('Which model?', choices, agent.model) : rest
  if (id === undefined) return
  if (id === agent.model) return say(io, 'info', `The chat already uses ${id}.`)
  chat.continueWith({ ...chat.resumeOptions, model: id })
}

/** `/clear`: starts a new session; the screen stays. */
export function startNewSession(chat: ChatSession): void {
  chat.continueWith({ model: chat.agent.model })
}

/** `/resume`: continues another session of this workspace. */
export async function resumeSession(chat: ChatSession, rest: string): Promise<void> {
  const { io, agent, questions } = chat
  const found = await withWorkspace(chat, async (workspace) => {
    if (rest !== '') await requireOwnSession(workspace, rest)
    return rest === '' ? listSessions(workspace) : []
  })
  const rows = found.filter(({ session_id, turn_count }) => session_id !== agent.session_id && turn_count > 0)
  if (rest === '' && rows.length === 0) return say(io, 'info', 'This workspace has no other session.')
  const label = ({ title, first_prompt, session_id }: (typeof rows)[number]): string =>
    toOneLine(title ?? first_prompt) || session_id
  const about = ({ updated_at, turn_count, session_id }: (typeof rows)[number]): string =>
    `${formatAge(updated_at, Date.now())}, ${turn_count} ${turn_count === 1 ? 'turn' : 'turns'}, ${session_id}`
  const id =
    rest === ''
      ? await questions.pick(
          'Which session?',
          rows.map((one) => ({ value: one.session_id, label: label(one), description: about(one) })),
        )
      : rest
  if (id !== undefined) chat.continueWith({ resume: id })
}

/** Lets the person pick a turn; the last one is first. */
async function pickTurn(chat: ChatSession, title: string): Promise<{ turn: number; text: string } | undefined> {
  const turns = chat.hasTurns
    ? await withWorkspace(chat, (workspace) => listPastTurns(workspace, chat.agent.session_id))
    : []
  if (turns.length === 0) return void say(chat.io, 'info', 'This session has no turn yet.')
  const rows = turns.toReversed().map(({ turn, text, ts }) => ({
    value: String(turn),
    label: toOneLine(text.trim()).slice(0, 200) || `turn ${turn}`,
    description: `turn ${turn}, ${formatAge(ts, Date.now())}`,
  }))
  const chosen = await chat.questions.pick(title, rows)
  return turns.find(({ turn }) => String(turn) === chosen)
}

const scopes: readonly { value: RevertScope; label: string; description: string }[] = [
  { value: 'both', label: 'files and conversation', description: 'undo the whole turn' },
  { value: 'conversation', label: 'conversation', description: 'keep the files' },
  { value: 'code', label: 'files', description: 'keep the conversation' },
]

/** `/rewind`: restores the state before a turn and puts its message in the editor. */
export async function rewindSession(chat: ChatSession): Promise<void> {
  const chosen = await pickTurn(chat, 'Go back to before which message?')
  if (!chosen) return
  const scope = (await chat.questions.pick('What should go back?', scopes)) as RevertScope | undefined
  if (scope === undefined) return
  const { session_id } = chat.agent
  chat.continueWith(chat.resumeOptions, async () => {
    const { reverted, skipped, unrevertable } = await withWorkspace(chat, (workspace) =>
      revert(workspace, session_id, { turn: chosen.turn, scope, paths: [] }, Date.now()),
    )
    for (const { path, reason } of skipped) say(chat.io, 'warning', `${toOneLine(path)} was not restored: ${reason}`)
    if (unrevertable.length > 0)
      say(
        chat.io,
        'warning',
        `Not restored, because the session does not know these newer files: ${unrevertable.map(toOneLine).join(', ')}`,
      )
    say(
      chat.io,
      'info',
      `Back to before turn ${chosen.turn}` +
        `${reverted.length > 0 ? `; restored: ${reverted.map(toOneLine).join(', ')}` : ''}. /rewind can undo this.`,
    )
    if (scope !== 'code') chat.handle.send({ type: 'input', text: chosen.text })
    return chat.resumeOptions
  })
}

/** `/fork`: starts a session with the conversation before a turn; this session stays unchanged. */
export async function forkSession(chat: ChatSession): Promise<void> {
  const chosen = await pickTurn(chat, 'Fork before which message?')
  if (!chosen) return
  const { kernel, io, agent } = chat
  const { session_id, model } = agent
  chat.continueWith(chat.resumeOptions, async (): Promise<AgentOptions> => {
    const made = await createAgent(kernel, {
      env: io.env,
      model,
      surface: 'chat',
      resume: session_id,
      fork: 'full_copy',
    })
    await made.close()
    await withWorkspace(chat, (workspace) =>
      revert(workspace, made.session_id, { turn: chosen.turn, scope: 'conversation', paths: [] }, Date.now()),
    )
    say(
      io,
      'info',
      `${made.session_id} has the conversation before turn ${chosen.turn} of ${session_id}, which is unchanged.`,
    )
    chat.handle.send({ type: 'input', text: chosen.text })
    return { resume: made.session_id, model }
  })
}
