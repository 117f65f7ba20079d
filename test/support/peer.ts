import type { ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fixture, FixtureOpts, JournalEntry } from '@copilotkit/aimock'
import { tempWorkspace, type Files, type TempWorkspace } from 'vtcode/test'
import { startMock } from './mock.js'
import { runProcess, runProgram } from './program_run.js'
import { openSeal } from '../../build/core/system/index.js'

/** One answer of the peer: text, calls, an error, and how it is sent. */
export interface Answer {
  content?: string
  toolCalls?: { id?: string; name: string; arguments: string }[]
  reasoning?: string
  reasoningSignature?: string
  finishReason?: string
  usage?: Record<string, unknown>
  error?: { message: string; type?: string; code?: string }
  status?: number
  retryAfter?: number
  how?: FixtureOpts
}
export const call = (name: string, input: unknown, id?: string): NonNullable<Answer['toolCalls']>[number] => ({
  name,
  arguments: typeof input === 'string' ? input : JSON.stringify(input),
  ...(id !== undefined && { id }),
})

/** A real server that speaks the wires of model servers and answers by a script; it remembers what it was asked. */
export interface Peer extends AsyncDisposable {
  readonly url: string
  readonly asked: JournalEntry[]
  /** The request bodies, as they came. */
  readonly bodies: any[]
}
const CHUNK_CHARS = 20
const MAX_CHUNKS = 200
/** Sends short answers in small chunks and limits the chunks of a long answer: chunks of 20 characters take seconds for a megabyte. */
function chunkSizeOf({ content = '', reasoning = '', toolCalls = [] }: Answer): number {
  const longest = Math.max(content.length, reasoning.length, ...toolCalls.map((one) => one.arguments.length))
  return Math.max(CHUNK_CHARS, Math.ceil(longest / MAX_CHUNKS))
}

export async function startPeer(script: (Answer | ((body: any) => Answer))[]): Promise<Peer> {
  const { mock, stop } = await startMock()
  let next = 0
  // One fixture per answer: how it is sent belongs to the fixture.
  script.forEach((step, index) => {
    const fixture: Fixture = {
      match: { predicate: () => next === index },
      response: ((request: unknown) => {
        next += 1
        const { how, ...answer } = typeof step === 'function' ? step(request) : step
        // The server reads these after the answer.
        Object.assign(fixture, { chunkSize: chunkSizeOf(answer) }, how)
        return answer
      }) as never,
      ...(typeof step !== 'function' && step.how),
    }
    mock.addFixture(fixture)
  })
  mock.on({ predicate: () => true }, { error: { message: 'script exhausted' }, status: 400 })
  return {
    url: mock.url,
    get asked() {
      return mock.getRequests()
    },
    get bodies() {
      return mock.getRequests().map(({ body }) => body)
    },
    [Symbol.asyncDispose]: stop,
  }
}

export type Format = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'google-generative-ai'
export const formats: Format[] = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-generative-ai']
/** The settings of a user whose provider is the peer; `others` are more providers of it. */
export const settingsFor = (
  peer: { url: string },
  extra: { provider?: object; others?: object[]; settings?: object; format?: Format } = {},
): object => ({
  custom_providers: [extra.provider, ...(extra.others ?? [])].map((provider) => ({
    name: 'peer',
    api_format: extra.format ?? 'openai-chat',
    base_url: `${peer.url}/${extra.format === 'google-generative-ai' ? 'v1beta' : 'v1'}`,
    models: ['m'],
    retries: { request: 4, stream: 2 },
    ...provider,
  })),
  agent: { model: 'peer/m' },
  ...extra.settings,
})

export interface Home extends TempWorkspace {
  readonly env: Record<string, string>
}
/** The user's mark for what a session holds, as the program that runs in a home writes it. */
export const markIn = ({ home }: Home, session: string, text: string): string =>
  openSeal(join(home, '.vtcode'), '').userMark('session', session, text)

/** A workspace and a home whose settings name the peer. */
export async function home(
  peer: { url: string },
  files: Files = {},
  extra: Parameters<typeof settingsFor>[1] = {},
): Promise<Home> {
  const workspace = await tempWorkspace(files)
  mkdirSync(join(workspace.home, '.vtcode'), { recursive: true })
  writeFileSync(join(workspace.home, '.vtcode/vtcode.config.json'), JSON.stringify(settingsFor(peer, extra)))
  const env = {
    PATH: process.env['PATH']!,
    HOME: workspace.home,
    VTCODE_HOME: join(workspace.home, '.vtcode'),
    PEER_API_KEY: 'key-of-the-peer-0123',
  }
  return Object.assign(workspace, { env })
}

export interface Ran {
  code: number | null
  out: string
  err: string
}
/** Runs the program to its end; as a process of its own where options of Node, the process itself or `process` ask for it. */
export async function vtcode(
  place: Home,
  args: string[],
  how: {
    input?: string
    env?: Record<string, string>
    node?: string[]
    process?: boolean
    terminal?: boolean
    started?: (child: ChildProcess) => void
  } = {},
): Promise<Ran> {
  const options = {
    cwd: place.root,
    env: { ...place.env, ...how.env },
    ...(how.input !== undefined && { input: how.input }),
    ...(how.terminal && { terminal: true }),
  }
  const { node, started } = how
  const { code, stdout, stderr } =
    node || started || how.process
      ? await runProcess(args, { ...options, ...(node && { node }), ...(started && { started }) })
      : await runProgram(args, options)
  return { code, out: stdout, err: stderr }
}

/** The events that were printed. */
export const eventsOf = (out: string): any[] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
/** The events of a session on disk. */
export const logOf = (place: TempWorkspace, session: string): any[] =>
  readFileSync(join(place.root, '.vtcode/sessions', session, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).event)
