import { omitUndefined } from '../../../core/shapes/index.js'
import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import {
  printFailure,
  resolveSessionId,
  toAgentOptions,
  withAgent,
  readDialogue,
  type SessionFlags,
} from '../../agent/cli/index.js'
import type { Agent, AgentOptions, GivenImage } from '../../agent/index.js'
import { spawnSession, type SessionSurface, type UiEvent, type UiSession } from '../../tui/index.js'
import { createBranchReader } from './branch.js'
import { createFileCompletion, readNamedImages } from './attachments.js'
import { truncateForDisplay } from './call_blocks.js'
import { formatResumeHint } from './conversation.js'
import { listSlashCommands, runWhileBusy, runMessage } from './commands.js'
import { chatPlaceholder, type ChatFront } from './front.js'
import { appendHistory, readHistory } from './history.js'
import { waitUntilDue } from './chat_schedule.js'
import { resolveTheme } from './theme.js'
import { Questions } from './questions.js'
import { createScreenIo } from './screen_io.js'
import { say } from '../../lib/terminal/index.js'
import { openExternalEditor } from './shell.js'
import { isPromptApproval, ChatSession } from './chat_session.js'
import { Transcript } from './transcript.js'

/** Runs the chat on a screen: finished rows in the scrollback, the live part and the editor below. */
export async function runOnScreen(
  kernel: Kernel,
  { context, surface, message, ...flags }: SessionFlags & { surface?: SessionSurface; message: string },
  terminal: Io,
  images: GivenImage[],
): Promise<number> {
  const { session, io, chat } = openScreen(kernel, terminal, surface)
  const { handle } = session
  const options: AgentOptions = {
    surface: 'chat',
    onDelta: chat.transcript.onDelta,
    onEvent: async (event) => {
      await chat.transcript.onEvent(event)
      chat.recordEvent(event)
    },
  }
  try {
    let chosen: AgentOptions | undefined = toAgentOptions(flags)
    // If another agent cannot be opened, continue with the last one.
    let good: AgentOptions | undefined
    let code = 0
    let first = message
    while (chosen && !chat.over) {
      let begun = false
      if (chosen.resume !== undefined && chat.session_id !== chosen.resume && !chosen.fork)
        await showPastMessages(chat, chosen.resume)
      // Keep another choice of the person, such as approvals that are saved for later.
      const approval = isPromptApproval(kernel, context, io.env)
        ? { approval: { approve: chat.questions.approve, ask: chat.questions.ask } }
        : {}
      const providers = { ...chosen.providers, ...approval }
      code = await withAgent(
        kernel,
        io,
        { verb: 'interactive', ...omitUndefined({ asked: context }) },
        { ...options, ...chosen, providers },
        async (agent) => {
          begun = true
          chat.begin(agent, images.splice(0), chosen?.resume !== undefined)
          await runAgent(chat, session, agent, first)
          first = ''
          good = chat.resumeOptions
          return io.signal.aborted ? 130 : 0
        },
      )
      const back: AgentOptions | undefined = good
      if (!begun) good = undefined
      chosen = begun ? await resolveNextOptions(chat, good) : back
    }
    return code
  } finally {
    chat.ended.abort()
    handle.send({ type: 'shutdown' })
    await handle.closed
    if (chat.hasTurns) say(terminal, 'info', formatResumeHint(chat.agent.session_id))
  }
}

/** Returns the options of the next agent. Reports a failure and returns `same`. */
async function resolveNextOptions(
  chat: ChatSession,
  same: AgentOptions | undefined,
): Promise<AgentOptions | undefined> {
  try {
    return await chat.next?.()
  } catch (error) {
    printFailure(chat.kernel, error, chat.io)
    return same
  }
}

const MAX_PAST_MESSAGES = 20

/** Shows the last messages of a resumed session. */
async function showPastMessages({ kernel, handle }: ChatSession, id: string): Promise<void> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const words = await readDialogue(workspace, id === 'last' ? await resolveSessionId(workspace, undefined) : id)
    if (words.length > MAX_PAST_MESSAGES)
      handle.send({
        type: 'commit',
        block: { kind: 'note', text: `… ${words.length - MAX_PAST_MESSAGES} earlier messages` },
      })
    for (const { by, text } of words.slice(-MAX_PAST_MESSAGES))
      handle.send({ type: 'commit', block: { kind: by === 'person' ? 'user' : 'markdown', text } })
  } catch {
    // Opening the session reports the error.
  } finally {
    workspace.close()
  }
}

function openScreen(
  kernel: Kernel,
  terminal: Io,
  surface = kernel.settings.ui.surface,
): { session: UiSession; io: Io; chat: ChatSession } {
  const { env } = terminal
  let chat: ChatSession | undefined
  const theme = resolveTheme(kernel.settings.ui.theme, env)
  const offer = {
    keyBindings: kernel.settings.ui.key_bindings ?? {},
    files: createFileCompletion(() => (chat?.agent ? chat : undefined)),
    slashCommands: listSlashCommands(kernel),
    history: readHistory(kernel),
  }
  const stdin = terminal.stdin as NodeJS.ReadStream
  const output = (terminal.screen ?? terminal.stderr) as NodeJS.WriteStream
  const early = terminal.front as ChatFront | undefined
  const session =
    early?.session ??
    spawnSession({ stdin, output, env, theme, placeholder: chatPlaceholder, surface, workspaceRoot: kernel.workspace })
  const { handle } = session
  if (early) {
    early.taken = true
    if (surface === 'alternate') handle.send({ type: 'surface', surface })
  }
  handle.send({ type: 'theme', name: theme })
  handle.send({ type: 'offer', ...offer })
  handle.send({ type: 'queue', items: [] })
  const io = createScreenIo(terminal, handle)
  const questions = new Questions(handle, terminal.signal, kernel)
  const made = (chat = new ChatSession(
    kernel,
    io,
    handle,
    questions,
    new Transcript((command) => handle.send(command)),
    createBranchReader(kernel.workspace),
  ))
  terminal.signal.addEventListener('abort', () => (made.stop(), handle.send({ type: 'shutdown' })), { once: true })
  // A signal from a shell or supervisor acts like the key.
  terminal.onInterrupt?.(() => {
    const { busy } = made
    if (busy) made.stop()
    else handle.send({ type: 'shutdown' })
    return busy
  })
  return { session, io, chat: made }
}

/** Runs the chat with one agent. Returns when the person ends it or changes the agent. */
async function runAgent(chat: ChatSession, { handle, events }: UiSession, agent: Agent, first: string): Promise<void> {
  handle.send({
    type: 'header',
    lines: [`${agent.model}, mode ${agent.mode}, session ${agent.session_id}; /help lists commands.`],
  })
  handle.send({ type: 'title', text: `vtcode · ${chat.kernel.workspace.split('/').at(-1)}` })
  // The person sends or drops messages that an earlier chat left in the queue.
  const left = await agent.takeBack()
  if (left.length > 0) handle.send({ type: 'input', text: left.join('\n') })
  if (first !== '') submit(chat, first)
  const reader = events[Symbol.asyncIterator]()
  // Input typed between two agents belongs to the next one.
  let event = chat.pendingEvent
  while (!chat.over && !chat.next) {
    event ??= reader.next()
    const ended = new Promise<undefined>((resolve) => (chat.wake = () => resolve(undefined)))
    const clock = chat.busy ? undefined : waitUntilDue(agent)
    const found = await Promise.race([event, ended, ...(clock ? [clock.due] : [])])
    clock?.stop()
    if (found === true && !chat.busy) chat.start((signal) => chat.conversation.runTurn(undefined, signal))
    if (!found || found === true) continue
    event = undefined
    if (found.done || found.value.type === 'exit') chat.over = true
    else await handleEvent(chat, found.value)
  }
  chat.pendingEvent = event
  chat.stop()
  await chat.idle
}

async function handleEvent(chat: ChatSession, event: UiEvent): Promise<void> {
  const { handle } = chat
  if (event.type === 'overlay_result') chat.questions.handleResult(event)
  // A message sent before the chat was loaded was sent between turns.
  else if (event.type === 'submit' && !chat.busy) submit(chat, event.text)
  else if (event.type === 'submit' || event.type === 'queue_submit') await enqueueMessage(chat, event.text)
  else if (event.type === 'steer') await chat.conversation.handleWhileBusy(`/steer ${event.text}`, () => chat.stop())
  else if (event.type === 'cancel' || event.type === 'interrupt') chat.stop()
  else if (event.type === 'edit_queue') chat.editLastQueued()
  else if (event.type === 'cycle_mode') await chat.cycleMode()
  else if (event.type === 'toggle_detail' && chat.transcript.detail)
    handle.send({ type: 'overlay', overlay: { kind: 'pager', id: 'detail', ...chat.transcript.detail } })
  else if (event.type === 'history') void searchHistory(chat)
  else if (event.type === 'launch_editor') await openExternalEditor(chat, event.text)
}

async function searchHistory({ questions, kernel, handle }: ChatSession): Promise<void> {
  const texts = readHistory(kernel).toReversed()
  const chosen = await questions.pick(
    'Earlier messages',
    texts.map((value) => ({ value, label: value.replace(/\s+/g, ' ') })),
  )
  if (chosen !== undefined) handle.send({ type: 'input', text: chosen })
}

/** Starts a message between turns; the loop continues to read keys. */
function submit(chat: ChatSession, text: string): void {
  appendHistory(chat.kernel, text)
  chat.handle.send({ type: 'commit', block: { kind: 'user', text: truncateForDisplay(text) } })
  chat.start(async (signal) => {
    chat.conversation.images.push(...(await readNamedImages(text, chat)))
    return runMessage(chat, text.trim(), signal)
  })
}

async function enqueueMessage(chat: ChatSession, text: string): Promise<void> {
  appendHistory(chat.kernel, text)
  if (text.startsWith('/')) await runWhileBusy(chat, text.trim())
  else await chat.enqueue(text)
}
