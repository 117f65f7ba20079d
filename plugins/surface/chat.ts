import { createInterface } from 'node:readline'
import { Option } from 'commander'
import { omitUndefined } from '../../core/shapes/index.js'
import type { Io, Kernel } from '../../core/index.js'
import {
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
import { ChatConversation } from './chat/conversation.js'

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
    .option('--plain', 'read and write lines, without a screen')
    .addOption(
      new Option('--surface <which>', 'where to draw the screen; default: ui.surface').choices([
        'auto',
        'inline',
        'alternate',
      ]),
    )
    .action(async (flags: Flags) => {
      code = await runChat(kernel, flags, io)
    })
  return runCommand(command, argv, () => code)
}

async function runChat(kernel: Kernel, { plain, surface, context, ...flags }: Flags, terminal: Io): Promise<number> {
  const images = await readImages(flags, terminal)
  if (!images) return 2
  if (
    terminal.front ||
    (!plain &&
      terminal.stdout.isTTY &&
      (await import('../tui/index.js')).findTerminalFault(toTerminalStreams(terminal)) === undefined)
  ) {
    const { runOnScreen } = await import('./chat/screen.js')
    return runOnScreen(kernel, { ...flags, ...omitUndefined({ context, surface }) }, terminal, images)
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
        if (keyboard) await runInteractive(talk, agent, keyboard, agent.mode)
        else await runPiped(talk, io)
        return io.signal.aborted ? 130 : keyboard ? 0 : talk.code
      },
    )
  } finally {
    keyboard?.close()
  }
}

/** Returns the streams that the screen would use. */
const toTerminalStreams = ({ stdin, screen, stderr, env }: Io) => ({
  stdin,
  output: (screen ?? stderr) as Io['stderr'],
  env,
})

/** Runs the chat line by line with a person, who may type while a turn runs. */
async function runInteractive(talk: ChatConversation, agent: Agent, keyboard: Keyboard, mode: string): Promise<void> {
  say(keyboard.io, 'info', `${agent.model}, mode ${mode}, session ${agent.session_id}; /help lists commands.`)
  // The person sends or drops messages that an earlier chat left in the queue.
  const left = await agent.takeBack()
  let succeeded = false
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
async function runPiped(talk: ChatConversation, io: Io): Promise<void> {
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
