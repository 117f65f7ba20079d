import { redactText, truncateLine } from '../../../core/text/index.js'
import { outcomeTable, type MessageOrigin, type Msg, type OutcomeCode } from '../base/index.js'
import type { RefusedChanges } from '../loop/index.js'
import { messageText, type Conversation } from '../session/index.js'
import { keepArtifact } from './artifacts.js'
import { describeEnding, type FinishState, archiveFile, findTaskFile, taskFolder, formatItems } from '../task/index.js'

const file = 'current_blocked.md'

/** The state that a handoff reports. */
export type StuckState = FinishState & Pick<RefusedChanges, 'not_applied'>
type StuckConversation = Conversation & { state: Conversation['state'] & StuckState }
/** `says`: the end of the last command's output; `why`: a reason that the outcome does not state. */
interface Stuckness {
  says: string
  why?: string
}

const mostTask = 2000
const people: ReadonlySet<MessageOrigin> = new Set(['prompt', 'queue', 'schedule', 'parent'])

/** Returns the task of a conversation: its goal, the last input of a person, or the first one. */
function findTask({ goal, open, messages, first_prompt }: Conversation['state'] & FinishState): string {
  const isTask = ({ role, origin = 'prompt' }: Msg): boolean => role === 'user' && people.has(origin)
  const input = open && isTask(open.input) ? open.input : messages.findLast(isTask)
  const text = goal?.text ?? (input ? messageText(input) : first_prompt)
  return text.length > mostTask ? `${text.slice(0, mostTask)}… (${text.length} characters)` : text
}

/** Formats what a person needs to continue an unfinished run. */
function formatHandoff(
  { kernel, session_id, state, providers }: StuckConversation,
  outcome: OutcomeCode,
  { says, why }: Stuckness,
): string {
  const { tracker, verified, failures } = state
  const section = (title: string, lines: readonly string[]): string =>
    `## ${title}\n\n${lines.length > 0 ? lines.join('\n') : '(none)'}\n`
  const ran = verified?.commands.map((one) => `- \`${one.command}\` ${describeEnding(one)}`) ?? []
  const front = {
    session_id,
    outcome,
    created_at: new Date(providers.clock.now()).toISOString(),
    workspace: kernel.workspace,
    resume_command: `vtcode resume ${session_id} "<what to do>"`,
  }
  return [
    `---\n${Object.entries(front)
      .map(([key, value]) => `${key}: ${truncateLine(value, 4096)}`)
      .join('\n')}\n---\n`,
    section('Blocker Summary', [
      why ?? outcomeTable[outcome].description,
      ...(tracker ? formatItems(tracker, ({ status }) => status === 'blocked') : []),
    ]),
    section('Task', [findTask(state)]),
    section(
      'Not Applied',
      state.not_applied.map(({ tool, target, code }) => `- ${tool} ${target === '' ? '' : `'${target}' `}(${code})`),
    ),
    section('Current Tracker Snapshot', tracker ? [tracker.title, ...formatItems(tracker)] : []),
    section(
      'Relevant Paths',
      state.touched.slice(-50).map((path) => `- ${path}`),
    ),
    section('Verification Output', [...ran, ...(says === '' ? [] : ['', says])]),
    section('Resume Metadata', [`failures: ${failures.all}`, `resume_command: ${front.resume_command}`]),
  ].join('\n')
}

/** Writes the handoff of an unfinished run; returns its path, or nothing if it cannot be written. */
export async function handOff(
  thread: StuckConversation,
  outcome: OutcomeCode,
  stuck: Stuckness,
): Promise<string | undefined> {
  const { workspace, session_id, providers, state } = thread
  const text = redactText(formatHandoff(thread, outcome, stuck))
  await keepArtifact(thread, { name: 'blocked', round: state.phase?.round ?? 0 }, text)
  const stamp = new Date(providers.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '')
  const kept = `${taskFolder}/blockers/${session_id}-${stamp}.md`
  try {
    const path = await findTaskFile(workspace, session_id, file, { claim: true })
    if (path === undefined || workspace.resolve(kept, { follow: false }) !== kept) return undefined
    await workspace.write(path, Buffer.from(text), 'anything')
    await workspace.write(kept, Buffer.from(text), 'anything')
    await thread.harness('blocked_handoff_written', { message: path, data: { path } })
    return path
  } catch {
    // A full disk is no error here: the journal has the text.
    return undefined
  }
}

const longest = 4096

/** Shows the handoff of an earlier run to the model, once, and archives its file. */
export async function showHandoff(thread: Conversation & { state: FinishState }): Promise<void> {
  const { state, store, workspace, session_id } = thread
  if (state.blocked === undefined) return
  const text = await store.read(`prompts/${state.blocked}`)
  await thread.inject(
    `What was left when the last run of this session ended:\n${(text ?? '(not there any more)').slice(0, longest)}`,
    'harness',
    'blocked',
  )
  const path = await findTaskFile(workspace, session_id, file, { claim: false })
  if (path !== undefined && (await workspace.stat(path))) await archiveFile(workspace, path, session_id)
}
