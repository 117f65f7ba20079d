import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import {
  client,
  methods,
  ndJsonStream,
  type ClientCapabilities,
  type NewSessionResponse,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { keepCompiledOf } from './compiled.js'
import { hold } from './held.js'
import { home, startPeer, type Answer, type Home, type Peer } from './peer.js'
import { bin } from './program.js'

export interface EditorOptions {
  files?: Record<string, string>
  settings?: object
  provider?: object
  env?: Record<string, string>
  capabilities?: ClientCapabilities
  /** Answers a question; the default allows once. */
  permit?: (request: any) => unknown
  /** Returns the text of a buffer. */
  buffer?: (path: string) => unknown
  elicit?: (request: any) => unknown
}

export const allow = (optionId = 'allow') => ({ outcome: { outcome: 'selected', optionId } })

/** `vtcode acp` as a process. */
export function startAcp(place: Home, env: Record<string, string> = {}) {
  const all = { ...place.env, ...env }
  const child = spawn(process.execPath, [bin, 'acp'], { cwd: place.root, env: all, stdio: ['pipe', 'pipe', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  child.stdin.on('error', () => {})
  const exited = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      keepCompiledOf(['acp'], all)
      resolve(code)
    }),
  )
  return { child, exited, log: () => log }
}

/** An editor: the client of the SDK, the program as a process, and a model that answers by a script. */
export async function editor(script: Parameters<typeof startPeer>[0] | Answer[], options: EditorOptions = {}) {
  const peer: Peer = hold(await startPeer(script as Parameters<typeof startPeer>[0]))
  const place = hold(
    await home(peer, options.files ?? {}, {
      ...(options.settings && { settings: options.settings }),
      ...(options.provider && { provider: options.provider }),
    }),
  )
  return { peer, ...(await connectEditor(place, options)) }
}

/** Connects a client of the SDK to a new process in a place. */
export async function connectEditor(place: Home, options: EditorOptions = {}) {
  const { child, exited, log } = startAcp(place, options.env)
  const updates: (SessionUpdate & { sessionId: string })[] = []
  const questions: any[] = []
  const app = client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push({ ...params.update, sessionId: params.sessionId })
    })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      questions.push(params)
      return (await (options.permit ?? (() => allow()))(params)) as never
    })
    .onRequest(methods.client.fs.readTextFile, async ({ params }) => (await options.buffer!(params.path)) as never)
    .onRequest(methods.client.elicitation.create, async ({ params }) => (await options.elicit!(params)) as never)
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    ),
  )
  const { agent } = connection
  /** Ends as an editor ends it; the exit code. */
  const end = () => {
    child.stdin.end()
    return exited
  }
  hold({
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end()
    },
  })
  const capabilities: ClientCapabilities = {
    ...(options.buffer && { fs: { readTextFile: true } }),
    ...(options.elicit && { elicitation: { form: {} } }),
    ...options.capabilities,
  }
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientInfo: { name: 'test', version: '1' },
    clientCapabilities: capabilities,
  })
  const open = (cwd = place.root, mcpServers: any[] = []): Promise<NewSessionResponse> =>
    agent.request(methods.agent.session.new, { cwd, mcpServers })
  const prompt = (sessionId: string, text: string): Promise<PromptResponse> =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
  const textOf = (kind = 'agent_message_chunk') =>
    updates.flatMap((one: any) => (one.sessionUpdate === kind ? [one.content.text] : [])).join('')
  const kindsOf = (kind: string): any[] => updates.filter(({ sessionUpdate }) => sessionUpdate === kind)
  return {
    place,
    child,
    exited,
    log,
    agent,
    connection,
    initialized,
    updates,
    questions,
    open,
    prompt,
    textOf,
    kindsOf,
    end,
  }
}

/** `vtcode acp` as a process that is driven line by line. */
export async function rawEditor(script: Answer[], files: Record<string, string> = {}) {
  const place = hold(await home(hold(await startPeer(script)), files))
  const { child, exited, log } = startAcp(place)
  const lines: any[] = []
  const waiting: (() => void)[] = []
  createInterface(child.stdout).on('line', (text) => {
    lines.push(JSON.parse(text))
    for (const wake of waiting.splice(0)) wake()
  })
  const line = async (like: (one: any) => boolean): Promise<any> => {
    for (;;) {
      const found = lines.find(like)
      if (found) return found
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  const write = (text: string) => child.stdin.write(`${text}\n`)
  const send = (message: object) => write(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const end = () => {
    child.stdin.end()
    return exited
  }
  hold({ [Symbol.asyncDispose]: async () => void (await end()) })
  return { place, lines, line, write, send, end, log }
}
