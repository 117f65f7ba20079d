import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, home, logOf, startPeer, vtcode, type Answer, type Home, type Peer } from './peer.js'

export type Face = 'exec' | 'ask' | 'chat'
/** The ending as a surface shows it: its exit code and its output, without counts, times and ids. */
export interface Told {
  code: number | null
  out: string
  err: string
}
/** The ending as the log records it: the outcome, the code that stopped it, how its turns ended, and what was not applied. */
export interface Logged {
  outcome: string
  stop?: string
  turns: string[]
  not_applied?: string[]
}
interface Child {
  kill(signal: NodeJS.Signals): boolean
}
export interface Scene {
  script: Answer[]
  files?: Record<string, string>
  mode?: string
  settings?: object
  provider?: object
  /** A model server of another kind. */
  server?: 'dead' | 'silent' | 'prose'
  flags?: string[]
  node?: string[]
  /** An action on the program once a condition holds; without `beside` the program is a process that can be killed. */
  once?: {
    when: (place: Home, peer: Peer) => boolean
    then: (child: Child, place: Home) => Promise<unknown> | unknown
    beside?: boolean
  }
  /** Other words of a chat than `go`. */
  lines?: string[]
  /** The words of a second process, which runs after the first. */
  then?: string[]
  /** The words of the task. */
  task?: string
}

/** Plays a scene on a surface, from a workspace and a model server of its own, to its end. */
export async function play(
  face: Face,
  scene: Scene,
): Promise<{ told: Told; logged: Logged | undefined; log: any[]; asked: any[] }> {
  const {
    script,
    files = {},
    mode = 'auto',
    settings,
    provider,
    server,
    flags = [],
    node,
    once,
    task = 'go',
    lines = [task],
    then,
  } = scene
  await using peer = await startPeer(script)
  await using other = await otherServer(server)
  await using place = await home(
    { url: other.url ?? peer.url },
    { 'there.txt': 'one\n', '.env': 'x\n', ...files },
    {
      settings: { agent: { model: 'peer/m' }, ...settings },
      provider: { context_window: 128_000, retries: { request: 0, stream: 0 }, ...provider },
    },
  )
  const words =
    face === 'ask'
      ? ['ask', ...flags, task]
      : face === 'exec'
        ? ['exec', '--mode', mode, ...flags, task]
        : ['--mode', mode, 'chat', ...flags]
  let over = false
  let acted: Promise<unknown> = Promise.resolve()
  const act = async (child: Child): Promise<void> => {
    while (!over && !once!.when(place, peer)) await sleep(20)
    if (!over) await once!.then(child, place)
  }
  const started = (child: Child): void => void (once && (acted = act(child)))
  const run = (argv: string[], how: Parameters<typeof vtcode>[2]) =>
    vtcode(place, argv, { ...how, ...(face === 'chat' && { input: `${lines.join('\n')}\n` }) })
  if (once?.beside) acted = act({ kill: () => false })
  const first = await run(words, { ...(node && { node }), ...(once && !once.beside && { started }) })
  over = true
  await acted
  const last = then && face === 'exec' ? await run(then, {}) : first
  const id = existsSync(join(place.root, '.vtcode/sessions'))
    ? readdirSync(join(place.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))
    : undefined
  const log = id === undefined ? [] : logOf(place, id)
  return {
    told: { code: last.code, out: last.out, err: plain(last.err) },
    logged: loggedIn(log),
    log,
    asked: peer.bodies,
  }
}

const plain = (text: string): string =>
  text
    .replace(/, \d+ tokens in, \d+ out(, [\d.]+ USD)?  \(session \w+\)/g, '')
    .replace(/\b\d+ requests?\b/g, 'N requests')
    .replace(/\b\d+(\.\d+)? (ms|s)\b/g, 'N $2')
    .replace(/costs at least [\d.]+\d/g, 'costs at least N')
    .replace(/ses_\w+/g, 'SES')
    .replace(/127\.0\.0\.1:\d+/g, 'SERVER')

function loggedIn(log: any[]): Logged | undefined {
  const end = log.findLast(({ type }) => type === 'thread.completed')
  if (!end) return undefined
  const { outcome_code, stop_reason, not_applied } = end
  return {
    outcome: outcome_code,
    ...(stop_reason !== undefined && { stop: stop_reason }),
    turns: log.flatMap(({ type, code }) =>
      type === 'turn.completed' ? ['completed'] : type === 'turn.failed' ? [code] : [],
    ),
    ...(not_applied && { not_applied: not_applied.map(({ tool, target, code }: any) => `${tool} ${target} ${code}`) }),
  }
}

/** A server that is gone, that says nothing, or that speaks of something else. */
async function otherServer(kind: Scene['server']): Promise<AsyncDisposable & { url?: string }> {
  if (!kind) return { [Symbol.asyncDispose]: async () => {} }
  const server = createServer(
    (_, response) =>
      void (kind === 'prose' && response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  if (kind === 'dead') await close()
  return { url, [Symbol.asyncDispose]: kind === 'dead' ? async () => {} : close }
}

export const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
export const write = (path = 'a.txt') => call('unified_file', { action: 'write', path, content: 'x' })
export const edit = (old_str: string) =>
  call('unified_file', { action: 'edit', path: 'there.txt', old_str, new_str: 'two' })
export const run = (command: string) => call('unified_exec', { action: 'run', command })
export const read = (path: string) => call('unified_file', { action: 'read', path })
