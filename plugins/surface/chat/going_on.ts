import { openWorkspace } from '../../../core/index.js'
import {
  aboutModel,
  requireOwnSession,
  listSessions,
  modelChoices,
  revert,
  listPastTurns,
  type RevertScope,
} from '../../agent/cli/index.js'
import { createAgent, type AgentOptions } from '../../agent/index.js'
import { ago, oneLine, say } from '../../lib/terminal/index.js'
import type { Sitting } from './sitting.js'

async function inWorkspace<T>(
  { kernel }: Sitting,
  use: (workspace: ReturnType<typeof openWorkspace>) => Promise<T>,
): Promise<T> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    return await use(workspace)
  } finally {
    workspace.close()
  }
}

/** `/model`: the conversation goes on with another one. */
export async function switchModel(face: Sitting, rest: string): Promise<void> {
  const { kernel, io, agent, questions } = face
  const choices = modelChoices(kernel, io.env).map((model) => ({
    value: model.id,
    label: model.id,
    description: aboutModel(model),
  }))
  const id = rest === '' ? await questions.pick('Which model?', choices, agent.model) : rest
  if (id === undefined) return
  if (id === agent.model) return say(io, 'info', `${id} is the model already.`)
  face.goOn({ ...face.here, model: id })
}

/** `/clear`: a conversation that knows nothing of this one; what is on the screen stays there. */
export function beginAnew(face: Sitting): void {
  face.goOn({ model: face.agent.model })
}

/** `/resume`: another session of this workspace. */
export async function resumeOther(face: Sitting, rest: string): Promise<void> {
  const { io, agent, questions } = face
  const found = await inWorkspace(face, async (workspace) => {
    if (rest !== '') await requireOwnSession(workspace, rest)
    return rest === '' ? listSessions(workspace) : []
  })
  const rows = found.filter(({ session_id, turn_count }) => session_id !== agent.session_id && turn_count > 0)
  if (rest === '' && rows.length === 0) return say(io, 'info', 'There is no other session in this workspace.')
  const label = ({ title, first_prompt, session_id }: (typeof rows)[number]): string =>
    oneLine(title ?? first_prompt) || session_id
  const about = ({ updated_at, turn_count, session_id }: (typeof rows)[number]): string =>
    `${ago(updated_at, Date.now())}, ${turn_count} ${turn_count === 1 ? 'turn' : 'turns'}, ${session_id}`
  const id =
    rest === ''
      ? await questions.pick(
          'Which session?',
          rows.map((one) => ({ value: one.session_id, label: label(one), description: about(one) })),
        )
      : rest
  if (id !== undefined) face.goOn({ resume: id })
}

/** The turn that a person chooses, the last one first. */
async function chosenTurn(face: Sitting, title: string): Promise<{ turn: number; text: string } | undefined> {
  const turns = face.begun
    ? await inWorkspace(face, (workspace) => listPastTurns(workspace, face.agent.session_id))
    : []
  if (turns.length === 0) return void say(face.io, 'info', 'There is no turn yet to go back to.')
  const rows = turns.toReversed().map(({ turn, text, ts }) => ({
    value: String(turn),
    label: oneLine(text.trim()).slice(0, 200) || `turn ${turn}`,
    description: `turn ${turn}, ${ago(ts, Date.now())}`,
  }))
  const chosen = await face.questions.pick(title, rows)
  return turns.find(({ turn }) => String(turn) === chosen)
}

const scopes: readonly { value: RevertScope; label: string; description: string }[] = [
  { value: 'both', label: 'files and conversation', description: 'as if the turn had not been' },
  { value: 'conversation', label: 'conversation', description: 'files stay as they are' },
  { value: 'code', label: 'files', description: 'the model still knows of the turn' },
]

/** `/rewind`: what was before a turn is there again; its message is in the editor. */
export async function goBack(face: Sitting): Promise<void> {
  const chosen = await chosenTurn(face, 'Back to before which message?')
  if (!chosen) return
  const scope = (await face.questions.pick('What of it?', scopes)) as RevertScope | undefined
  if (scope === undefined) return
  const { session_id } = face.agent
  face.goOn(face.here, async () => {
    const { reverted, skipped, unrevertable } = await inWorkspace(face, (workspace) =>
      revert(workspace, session_id, { turn: chosen.turn, scope, paths: [] }, Date.now()),
    )
    for (const { path, reason } of skipped) say(face.io, 'warning', `${oneLine(path)} stays as it is: ${reason}`)
    if (unrevertable.length > 0)
      say(
        face.io,
        'warning',
        `Younger than the turn and not known to the session, so not changed: ${unrevertable.map(oneLine).join(', ')}`,
      )
    say(
      face.io,
      'info',
      `It is as before turn ${chosen.turn}${reverted.length > 0 ? `; restored: ${reverted.map(oneLine).join(', ')}` : ''}. /rewind takes that back too.`,
    )
    if (scope !== 'code') face.handle.send({ type: 'input', text: chosen.text })
    return face.here
  })
}

/** `/fork`: another session with the conversation up to a turn; this one stays as it is. */
export async function forkAt(face: Sitting): Promise<void> {
  const chosen = await chosenTurn(face, 'A new session from before which message?')
  if (!chosen) return
  const { kernel, io, agent } = face
  const { session_id, model } = agent
  face.goOn(face.here, async (): Promise<AgentOptions> => {
    const made = await createAgent(kernel, {
      env: io.env,
      model,
      surface: 'chat',
      resume: session_id,
      fork: 'full_copy',
    })
    await made.close()
    await inWorkspace(face, (workspace) =>
      revert(workspace, made.session_id, { turn: chosen.turn, scope: 'conversation', paths: [] }, Date.now()),
    )
    say(
      io,
      'info',
      `${made.session_id} begins with what was said before turn ${chosen.turn} of ${session_id}, which stays as it is.`,
    )
    face.handle.send({ type: 'input', text: chosen.text })
    return { resume: made.session_id, model }
  })
}
