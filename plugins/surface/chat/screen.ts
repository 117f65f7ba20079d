import { definedOnly } from '../../../core/shapes/index.js'
import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import {
  printFailure,
  sessionMeant,
  sessionOptions,
  withAgent,
  readDialogue,
  type SessionFlags,
} from '../../agent/cli/index.js'
import type { Agent, AgentOptions, GivenImage } from '../../agent/index.js'
import { spawnSession, type SessionSurface, type UiEvent, type UiSession } from '../../tui/index.js'
import { branchOf } from './branch.js'
import { offeredFiles, imagesNamed } from './attachments.js'
import { readablePart } from './changes.js'
import { menuOf, runMeanwhile, runOwn } from './commands.js'
import { chatPlaceholder, type ChatFront } from './front.js'
import { keepSaid, saidBefore } from './history.js'
import { whenDue } from './loops.js'
import { chosenTheme } from './preferences.js'
import { Questions } from './questions.js'
import { screenIo } from './screen_io.js'
import { editOutside } from './shell.js'
import { asksHere, Sitting } from './sitting.js'
import { Transcript } from './transcript.js'

/** The chat on a screen: finished rows in the scrollback, the rest and the editor below. */
export async function atScreen(
  kernel: Kernel,
  { context, surface, ...flags }: SessionFlags & { surface?: SessionSurface },
  terminal: Io,
  images: GivenImage[],
): Promise<number> {
  const { session, io, face } = opened(kernel, terminal, surface)
  const { handle } = session
  const options: AgentOptions = {
    surface: 'chat',
    onDelta: face.transcript.delta,
    onEvent: async (event) => {
      await face.transcript.event(event)
      face.count(event)
    },
  }
  try {
    let chosen: AgentOptions | undefined = sessionOptions(flags)
    // Where another agent cannot be opened, the last one goes on.
    let good: AgentOptions | undefined
    let code = 0
    while (chosen && !face.over) {
      let begun = false
      if (chosen.resume !== undefined && face.session_id !== chosen.resume && !chosen.fork)
        await showPast(face, chosen.resume)
      // What a person chose otherwise, such as questions that are kept for later, stays as it is.
      const approval = asksHere(kernel, context, io.env)
        ? { approval: { approve: face.questions.approve, ask: face.questions.ask } }
        : {}
      const providers = { ...chosen.providers, ...approval }
      code = await withAgent(
        kernel,
        io,
        { verb: 'interactive', ...definedOnly({ asked: context }) },
        { ...options, ...chosen, providers },
        async (agent) => {
          begun = true
          face.begin(agent, images.splice(0), chosen?.resume !== undefined)
          await sit(face, session, agent)
          good = face.here
          return io.signal.aborted ? 130 : 0
        },
      )
      const back: AgentOptions | undefined = good
      if (!begun) good = undefined
      chosen = begun ? await nextOf(face, good) : back
    }
    return code
  } finally {
    face.ended.abort()
    handle.send({ type: 'shutdown' })
    await handle.closed
  }
}

/** With which agent to go on; what cannot be done for it is said, and the same one goes on. */
async function nextOf(face: Sitting, same: AgentOptions | undefined): Promise<AgentOptions | undefined> {
  try {
    return await face.next?.()
  } catch (error) {
    printFailure(face.kernel, error, face.io)
    return same
  }
}

const pastShown = 20

/** The last words of a session that is gone on with. */
async function showPast({ kernel, handle }: Sitting, id: string): Promise<void> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const words = await readDialogue(workspace, id === 'last' ? await sessionMeant(workspace, undefined) : id)
    if (words.length > pastShown)
      handle.send({
        type: 'commit',
        block: { kind: 'note', text: `… ${words.length - pastShown} messages before these` },
      })
    for (const { by, text } of words.slice(-pastShown))
      handle.send({ type: 'commit', block: { kind: by === 'person' ? 'user' : 'markdown', text } })
  } catch {
    // Whoever opens the session says what is wrong with it.
  } finally {
    workspace.close()
  }
}

function opened(
  kernel: Kernel,
  terminal: Io,
  surface = kernel.settings.ui.surface,
): { session: UiSession; io: Io; face: Sitting } {
  const { env } = terminal
  let face: Sitting | undefined
  const theme = chosenTheme(kernel.settings.ui.theme, env)
  const offer = {
    keyBindings: kernel.settings.ui.key_bindings ?? {},
    files: offeredFiles(() => (face?.agent ? face : undefined)),
    slashCommands: menuOf(kernel),
    history: saidBefore(kernel),
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
  const io = screenIo(terminal, handle)
  const questions = new Questions(handle, terminal.signal, kernel)
  const made = (face = new Sitting(
    kernel,
    io,
    handle,
    questions,
    new Transcript((command) => handle.send(command)),
    branchOf(kernel.workspace),
  ))
  terminal.signal.addEventListener('abort', () => (made.stop(), handle.send({ type: 'shutdown' })), { once: true })
  // What a shell or a supervisor sends means what the key means.
  terminal.interrupts?.(() => {
    const { busy } = made
    if (busy) made.stop()
    else handle.send({ type: 'shutdown' })
    return busy
  })
  return { session, io, face: made }
}

/** Runs the chat with a person. Returns when they end it or change the agent. */
async function sit(face: Sitting, { handle, events }: UiSession, agent: Agent): Promise<void> {
  handle.send({
    type: 'header',
    lines: [`${agent.model}, mode ${agent.mode}, session ${agent.session_id}; /help says what else there is.`],
  })
  handle.send({ type: 'title', text: `vtcode · ${face.kernel.workspace.split('/').at(-1)}` })
  // What an earlier chat left waiting is theirs to send or to drop.
  const left = await agent.takeBack()
  if (left.length > 0) handle.send({ type: 'input', text: left.join('\n') })
  const reader = events[Symbol.asyncIterator]()
  // What was typed while the one agent was closed and the next one opened is for the next one.
  let event = face.unread
  while (!face.over && !face.next) {
    event ??= reader.next()
    const ended = new Promise<undefined>((resolve) => (face.wake = () => resolve(undefined)))
    const clock = face.busy ? undefined : whenDue(agent)
    const found = await Promise.race([event, ended, ...(clock ? [clock.due] : [])])
    clock?.stop()
    if (found === true && !face.busy) face.start((signal) => face.talk.run(undefined, signal))
    if (!found || found === true) continue
    event = undefined
    if (found.done || found.value.type === 'exit') face.over = true
    else await take(face, found.value)
  }
  face.unread = event
  face.stop()
  await face.idle
}

async function take(face: Sitting, event: UiEvent): Promise<void> {
  const { handle } = face
  if (event.type === 'overlay_result') face.questions.answered(event)
  // What was sent before the chat was there was sent while nothing was under way yet.
  else if (event.type === 'submit' && !face.busy) submit(face, event.text)
  else if (event.type === 'submit' || event.type === 'queue_submit') await wait(face, event.text)
  else if (event.type === 'steer') await face.talk.meanwhile(`/steer ${event.text}`, () => face.stop())
  else if (event.type === 'cancel' || event.type === 'interrupt') face.stop()
  else if (event.type === 'edit_queue') face.editQueue()
  else if (event.type === 'cycle_mode') await face.cycleMode()
  else if (event.type === 'toggle_detail' && face.transcript.detail)
    handle.send({ type: 'overlay', overlay: { kind: 'pager', id: 'detail', ...face.transcript.detail } })
  else if (event.type === 'history') void searchHistory(face)
  else if (event.type === 'launch_editor') await editOutside(face, event.text)
}

async function searchHistory({ questions, kernel, handle }: Sitting): Promise<void> {
  const texts = saidBefore(kernel).toReversed()
  const chosen = await questions.pick(
    'Said before',
    texts.map((value) => ({ value, label: value.replace(/\s+/g, ' ') })),
  )
  if (chosen !== undefined) handle.send({ type: 'input', text: chosen })
}

/** A message while nothing is under way; the loop goes on reading keys meanwhile. */
function submit(face: Sitting, text: string): void {
  keepSaid(face.kernel, text)
  face.handle.send({ type: 'commit', block: { kind: 'user', text: readablePart(text) } })
  face.start(async (signal) => {
    face.talk.images.push(...(await imagesNamed(text, face)))
    return runOwn(face, text.trim(), signal)
  })
}

async function wait(face: Sitting, text: string): Promise<void> {
  keepSaid(face.kernel, text)
  if (text.startsWith('/')) await runMeanwhile(face, text.trim())
  else await face.queue(text)
}
