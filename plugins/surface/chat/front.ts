import { spawnSession, findTerminalFault, type UiEvent, type UiSession } from '../../tui/index.js'

/** Screen of a chat, drawn before the rest of the program is loaded. Keeps typed text for the chat. */
export interface ChatFront {
  readonly session: UiSession
  /** True if the chat took over the screen. */
  taken: boolean
  /** Shows a message of the program before the chat starts. */
  say(text: string): void
  /** Restores the terminal. */
  end(): void
}

/**
 * Draws the screen early. Returns nothing without a screen, or if flags may be invalid: the error needs a plain
 * terminal.
 */
export default async function drawFront(): Promise<ChatFront | undefined> {
  const { stdin, stdout, stderr, env, argv } = process
  const words = argv.slice(2)
  if (
    !hasOnlyChatFlags(words.slice(1)) ||
    !stdout.isTTY ||
    findTerminalFault({ stdin, output: stderr, env }) !== undefined
  )
    return undefined
  // The program wraps its streams when it is loaded; the screen needs the real `write`.
  const write = stderr.write.bind(stderr)
  const output = new Proxy(stderr, {
    get(target, key) {
      const value: unknown = key === 'write' ? write : Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const sent: string[] = []
  let ends = 0
  const onEvent = (event: UiEvent): void => {
    if (front.taken) return
    if (event.type === 'submit') handle.send({ type: 'queue', items: (sent.push(event.text), sent) })
    // A second request to exit does not wait for the chat.
    if (event.type === 'exit' && ++ends > 1) process.kill(process.pid, 'SIGTERM')
  }
  const session = spawnSession({ stdin, output, env, onEvent, placeholder: chatPlaceholder })
  const { handle } = session
  const front: ChatFront = {
    session,
    taken: false,
    say: (text) => handle.send({ type: 'commit', block: { kind: 'output', text } }),
    end: () => handle.send({ type: 'shutdown' }),
  }
  handle.send({ type: 'status', left: 'vtcode is starting' })
  return front
}

/**
 * Flags of the chat, and whether each takes a value. A copy, because their definition loads the agent; a test
 * compares both.
 */
const flags: Record<string, boolean> = {
  '--continue': false,
  '--keep': false,
  '--resume': true,
  '--model': true,
  '--provider': true,
  '--session-id': true,
  '--context': true,
  '--surface': true,
  '--image': true,
}

/** Returns whether all words are flags of the chat, with their values. */
function hasOnlyChatFlags(words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at++) {
    const [, flag = '', value] = /^(--[a-z-]+)(?:=(.+))?$/s.exec(words[at]!) ?? []
    if (!Object.hasOwn(flags, flag) || (value !== undefined && !flags[flag])) return false
    if (flags[flag] && value === undefined && /^(?:-|$)/.test(words[++at] ?? '')) return false
  }
  return true
}

export const chatPlaceholder = '/ for commands'
