import { createInterface } from 'node:readline'
import { Option } from 'commander'
import { omitUndefined } from '../../core/shapes/index.js'
import type { Io, Kernel } from '../../core/index.js'
import {
  listModelChoices,
  pickModel,
  readImages,
  createProgressSink,
  toAgentOptions,
  AnswerPrinter,
  withAgent,
  addImageOption,
  addResumeOptions,
  type EventSink,
  type ImageFlags,
  type SessionFlags,
} from '../agent/cli/index.js'
import type { Agent, ThreadEvent } from '../agent/index.js'
import type { SessionSurface } from '../tui/index.js'
import { formatForStdout, isInteractive, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'
import { Keyboard } from './chat/keyboard.js'
import { waitUntilDue } from './chat/chat_schedule.js'
import { ChatConversation, formatResumeHint } from './chat/conversation.js'

interface Flags extends SessionFlags, ImageFlags {
  plain?: true
  surface?: SessionSurface
}

/** `vtcode chat`: draws a screen at a terminal, else reads one message a line. */
export default async function chat(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = addImageOption(
    addResumeOptions(
      createVerb('chat', 'Chat with a model that uses the tools: on a screen at a terminal, else line by line.', io),
    ),
  )
    .argument('[message...]', 'the first message')
    .option('--plain', 'read and write lines, without a screen')
    .addOption(
      new Option('--surface <which>', 'where to draw the screen; default: ui.surface').choices([
        'auto',
        'inline',
        'alternate',
      ]),
    )
    .action(async (words: string[], flags: Flags) => {
      const ready = await prepareModel(kernel, flags, io)
      code = typeof ready === 'number' ? ready : await runChat(kernel, { ...flags, ...ready.flags }, words, ready.io)
    })
  return runCommand(command, argv, () => code)
}

/**
 * Chooses the model of a chat that names none. Without any model, a person goes through `vtcode init` first. Returns
 * its exit code if that fails.
 */
async function prepareModel(kernel: Kernel, flags: Flags, io: Io): Promise<{ flags: Flags; io: Io } | number> {
  const names = [flags.model, flags.provider, flags.resume, flags.continue]
  const isChosen = names.some((one) => one !== undefined) || hasModel(kernel, io.env)
  if (isChosen || !isInteractive(io) || io.env['VTCODE'] === '1') return { flags: {}, io }
  const front = io.front as { end(): void } | undefined
  front?.end()
  const plainIo = { ...io, front: undefined }
  const model = await pickModel(kernel, plainIo)
  if (model !== undefined) return { flags: { model }, io: plainIo }
  say(io, 'info', 'No model is set up yet: this is `vtcode init`.')
  const main = await kernel.inspection.loadSurface('init')
  const code = (await main?.(kernel, [], plainIo)) ?? 0
  if (code !== 0) return code
  await kernel.reload()
  return { flags: {}, io: plainIo }
}

/** Returns whether a model is set, or some provider can be asked. */
const hasModel = (kernel: Kernel, env: Io['env']): boolean =>
  (env['VTCODE_MODEL'] ?? kernel.settings.agent.model) !== undefined || listModelChoices(kernel, env).length > 0

async function runChat(
  kernel: Kernel,
  { plain, surface, context, ...flags }: Flags,
  words: readonly string[],
  terminal: Io,
): Promise<number> {
  const message = words.join(' ').trim()
  const images = await readImages(flags, terminal)
  if (!images) return 2
  if (terminal.front || (!plain && (await canDraw(terminal)))) {
    const { runOnScreen } = await import('./chat/screen.js')
    return runOnScreen(kernel, { ...flags, ...omitUndefined({ context, surface }), message }, terminal, images)
  }
  const keyboard = isInteractive(terminal)
    ? new Keyboard(plain ? { ...terminal, env: { ...terminal.env, NO_COLOR: '1' } } : terminal)
    : undefined
  const io = keyboard?.io ?? terminal
  // A terminal gets words as they arrive; a file or a pipe gets whole texts.
  const voice = io.stdout.isTTY ? new AnswerPrinter(io) : undefined
  const [show, printText] = [io.quiet ? () => {} : createProgressSink(io), printTexts(io)]
  const onEvent: EventSink = async (event) => {
    await show(event)
    if (!voice?.finishText(event)) printText(event)
  }
  try {
    return await withAgent(
      kernel,
      io,
      { verb: 'interactive', ...omitUndefined({ asked: context }) },
      { surface: 'chat', ...toAgentOptions(flags), onEvent, ...omitUndefined({ onDelta: voice?.onDelta }) },
      async (agent) => {
        const talk = new ChatConversation(kernel, agent, io)
        talk.images = images
        if (keyboard) await runInteractive(talk, agent, keyboard, message)
        else await runPiped(talk, message, io)
        if (keyboard) say(io, 'info', formatResumeHint(agent.session_id))
        return io.signal.aborted ? 130 : keyboard ? 0 : talk.code
      },
    )
  } finally {
    keyboard?.close()
  }
}

const canDraw = async (terminal: Io): Promise<boolean> =>
  terminal.stdout.isTTY === true &&
  (await import('../tui/index.js')).findTerminalFault(toTerminalStreams(terminal)) === undefined

/** Returns the streams that the screen would use. */
const toTerminalStreams = ({ stdin, screen, stderr, env }: Io) => ({
  stdin,
  output: (screen ?? stderr) as Io['stderr'],
  env,
})

/** Runs the chat line by line with a person, who may type while a turn runs. */
async function runInteractive(
  talk: ChatConversation,
  agent: Agent,
  keyboard: Keyboard,
  message: string,
): Promise<void> {
  say(keyboard.io, 'info', `${agent.model}, mode ${agent.mode}, session ${agent.session_id}; /help lists commands.`)
  // The person sends or drops messages that an earlier chat left in the queue.
  const left = [...(message === '' ? [] : [message]), ...(await agent.takeBack())]
  let succeeded = message !== ''
  while (!talk.over) {
    const text: string | true | undefined =
      succeeded && left.length > 0 ? left.shift() : await readNextMessage(agent, keyboard, left.splice(0).join(' '))
    if (text === undefined) return
    succeeded = await keyboard.runInterruptible((signal, stop) => {
      keyboard.onBusyMessage = (more) => void talk.handleWhileBusy(more, stop)
      return text === true ? talk.runTurn(undefined, signal) : talk.handleMessage(text, signal)
    })
    left.push(...(await agent.takeBack()))
  }
}

/** Reads the next message; returns `true` if a scheduled task is due first. */
async function readNextMessage(agent: Agent, keyboard: Keyboard, draft: string): Promise<string | true | undefined> {
  const clock = waitUntilDue(agent)
  try {
    const found = await Promise.race([keyboard.readMessage(draft), clock.due])
    if (found === true) keyboard.stopReading()
    return found
  } finally {
    clock.stop()
  }
}

/** Handles piped input, one message a line. */
async function runPiped(talk: ChatConversation, message: string, io: Io): Promise<void> {
  if (message !== '') await talk.handleMessage(message, io.signal)
  for await (const line of createInterface({ input: io.stdin })) {
    if (line.trim() !== '') await talk.handleMessage(line.trim(), io.signal)
    if (talk.over || io.signal.aborted) return
  }
}

/** Prints texts of the model, and queued or scheduled messages when their turn starts. */
function printTexts(io: Io): (event: ThreadEvent) => void {
  let texts: string[] = []
  const print = (text: string) => io.stdout.write(`${formatForStdout(io, text)}\n`)
  const flush = (lines: string[]): void => {
    const text = lines.join('\n')
    if (text.trim() !== '') print(text)
    texts = []
  }
  return (event) => {
    if (event.type === 'item.started') {
      const { item } = event
      const waited = item.type === 'user_message' && ['queue', 'schedule'].includes(item.origin)
      if (waited) io.stderr.write(`> ${toOneLine(item.text)}\n`)
      if (item.type === 'tool_invocation') flush(texts)
    } else if (event.type === 'item.completed') {
      const { item } = event
      if (item.type === 'plan') print(item.text)
      else if (item.type === 'agent_message' && item.status === 'completed') texts.push(item.text)
    } else if (event.type === 'turn.completed') flush(texts)
    // The last text of a failed turn is the error, which `progress` prints; a cut answer comes before it.
    else if (event.type === 'turn.failed') flush(event.code === 'VT_LLM_LENGTH' ? texts.slice(0, -1) : [])
  }
}
