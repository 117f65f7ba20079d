import { spawnSession, unfitTerminal, type UiEvent, type UiSession } from '../../tui/index.js'

/** The screen of a chat, drawn before the rest of the program is there; what is typed on it is kept for the chat. */
export interface ChatFront {
  readonly session: UiSession
  /** The chat has the screen. */
  taken: boolean
  /** What the program has to say before the chat is begun. */
  say(text: string): void
  /** Gives the terminal back. */
  end(): void
}

/** Nothing where the chat is not on a screen, or where its words may be wrong: who is told so has no screen. */
export default async function drawnFirst(): Promise<ChatFront | undefined> {
  const { stdin, stdout, stderr, env, argv } = process
  const words = argv.slice(2)
  if (!areRight(words.slice(1)) || !stdout.isTTY || unfitTerminal({ stdin, output: stderr, env }) !== undefined)
    return undefined
  // The program guards its streams when it is loaded; who draws has the terminal as it is.
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
    // Who asks twice does not wait for the chat.
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
  handle.send({ type: 'status', left: 'vtcode starts' })
  return front
}

/** Flags of the chat, and whether a value stands behind each: said here once more because what defines them loads the agent; a test holds both together. */
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

/** Whether these words are flags of the chat on a screen, with their values. */
function areRight(words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at++) {
    const [, flag = '', value] = /^(--[a-z-]+)(?:=(.+))?$/s.exec(words[at]!) ?? []
    if (!Object.hasOwn(flags, flag) || (value !== undefined && !flags[flag])) return false
    if (flags[flag] && value === undefined && /^(?:-|$)/.test(words[++at] ?? '')) return false
  }
  return true
}

export const chatPlaceholder = '/ for commands'
