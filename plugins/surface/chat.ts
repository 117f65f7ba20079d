import { createInterface } from 'node:readline'
import { Option } from 'commander'
import { definedOnly } from '../../core/shapes/index.js'
import type { Io, Kernel } from '../../core/index.js'
import {
  givenImages,
  progress,
  sessionOptions,
  Voice,
  withAgent,
  withImages,
  withResume,
  type EventSink,
  type ImageFlags,
  type SessionFlags,
} from '../agent/cli/index.js'
import type { Agent, ThreadEvent } from '../agent/index.js'
import type { SessionSurface } from '../tui/index.js'
import { fitTerminal, interactive, oneLine, runCommand, say, verb } from '../lib/terminal/index.js'
import { Keyboard } from './chat/keyboard.js'
import { whenDue } from './chat/loops.js'
import { Talk } from './chat/talk.js'

interface Flags extends SessionFlags, ImageFlags {
  plain?: true
  surface?: SessionSurface
}

/** `vtcode chat`: line by line, one turn for each. */
export default async function chat(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = withImages(
    withResume(
      verb('chat', 'Talks with a model that uses the tools: on a screen at a terminal, else line by line.', io),
    ),
  )
    .option('--plain', 'line by line, without a screen')
    .addOption(
      new Option('--surface <which>', 'where the screen is drawn; default: ui.surface').choices([
        'auto',
        'inline',
        'alternate',
      ]),
    )
    .action(async (flags: Flags) => {
      code = await talk(kernel, flags, io)
    })
  return runCommand(command, argv, () => code)
}

async function talk(kernel: Kernel, { plain, surface, context, ...flags }: Flags, terminal: Io): Promise<number> {
  const images = await givenImages(flags, terminal)
  if (!images) return 2
  if (
    terminal.front ||
    (!plain && terminal.stdout.isTTY && (await import('../tui/index.js')).unfitTerminal(seen(terminal)) === undefined)
  ) {
    const { atScreen } = await import('./chat/screen.js')
    return atScreen(kernel, { ...flags, ...definedOnly({ context, surface }) }, terminal, images)
  }
  const keyboard = interactive(terminal)
    ? new Keyboard(plain ? { ...terminal, env: { ...terminal.env, NO_COLOR: '1' } } : terminal)
    : undefined
  const io = keyboard?.io ?? terminal
  // In front of a terminal words come when the model says them; a file or a pipe gets whole texts.
  const voice = io.stdout.isTTY ? new Voice(io) : undefined
  const [show, told] = [io.quiet ? () => {} : progress(io), conversation(io)]
  const onEvent: EventSink = async (event) => {
    await show(event)
    if (!voice?.ended(event)) told(event)
  }
  try {
    return await withAgent(
      kernel,
      io,
      { verb: 'interactive', ...definedOnly({ asked: context }) },
      { surface: 'chat', ...sessionOptions(flags), onEvent, ...definedOnly({ onDelta: voice?.onDelta }) },
      async (agent) => {
        const talk = new Talk(kernel, agent, io)
        talk.images = images
        if (keyboard) await sit(talk, agent, keyboard, agent.mode)
        else await listen(talk, io)
        return io.signal.aborted ? 130 : keyboard ? 0 : talk.code
      },
    )
  } finally {
    keyboard?.close()
  }
}

/** The terminal that the screen would be drawn on. */
const seen = ({ stdin, screen, stderr, env }: Io) => ({ stdin, output: (screen ?? stderr) as Io['stderr'], env })

/** With a person, who may speak at any time. */
async function sit(talk: Talk, agent: Agent, keyboard: Keyboard, mode: string): Promise<void> {
  say(keyboard.io, 'info', `${agent.model}, mode ${mode}, session ${agent.session_id}; /help says what else there is.`)
  // What an earlier chat left waiting is theirs to send or to drop.
  const left = await agent.takeBack()
  let went_well = false
  while (!talk.over) {
    const text: string | true | undefined =
      went_well && left.length > 0 ? left.shift() : await nextOrDue(agent, keyboard, left.splice(0).join(' '))
    if (text === undefined) return
    went_well = await keyboard.during((signal, stop) => {
      keyboard.meanwhile = (more) => void talk.meanwhile(more, stop)
      return text === true ? talk.run(undefined, signal) : talk.said(text, signal)
    })
    left.push(...(await agent.takeBack()))
  }
}

/** The next message; `true` where something that begins by itself is due before it. */
async function nextOrDue(agent: Agent, keyboard: Keyboard, draft: string): Promise<string | true | undefined> {
  const clock = whenDue(agent)
  try {
    const found = await Promise.race([keyboard.next(draft), clock.due])
    if (found === true) keyboard.release()
    return found
  } finally {
    clock.stop()
  }
}

/** What was piped in, a line at a time. */
async function listen(talk: Talk, io: Io): Promise<void> {
  for await (const line of createInterface({ input: io.stdin })) {
    if (line.trim() !== '') await talk.said(line.trim(), io.signal)
    if (talk.over || io.signal.aborted) return
  }
}

/** Prints the texts of the model, and of the person those that it takes up meanwhile. */
function conversation(io: Io): (event: ThreadEvent) => void {
  let texts: string[] = []
  const print = (text: string) => io.stdout.write(`${fitTerminal(io, text)}\n`)
  const flush = (lines: string[]): void => {
    const text = lines.join('\n')
    if (text.trim() !== '') print(text)
    texts = []
  }
  return (event) => {
    if (event.type === 'item.started') {
      const { item } = event
      const waited = item.type === 'user_message' && ['queue', 'schedule'].includes(item.origin)
      if (waited) io.stderr.write(`> ${oneLine(item.text)}\n`)
      if (item.type === 'tool_invocation') flush(texts)
    } else if (event.type === 'item.completed') {
      const { item } = event
      if (item.type === 'plan') print(item.text)
      else if (item.type === 'agent_message' && item.status === 'completed') texts.push(item.text)
    } else if (event.type === 'turn.completed') flush(texts)
    // The last text of a failed turn is the reason, which is shown otherwise; an answer that was cut comes before it.
    else if (event.type === 'turn.failed') flush(event.code === 'VT_LLM_LENGTH' ? texts.slice(0, -1) : [])
  }
}
