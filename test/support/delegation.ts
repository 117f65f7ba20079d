import { createAgent, type Agent, type AgentOptions } from 'vtcode/agent'
import type { Approval } from 'vtcode'
import type { Files } from 'vtcode/test'
import { bootKernel } from 'vtcode/test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hold } from './inside.js'
import { startMock } from './mock.js'
import { call, settingsFor, vtcode, type Answer } from './peer.js'

export const tool = (action: string, input: object = {}) => call('agents', { action, ...input })
export const spawn = (message: string, more: object = {}) => tool('spawn', { message, ...more })
export const says = (content: string): Answer => ({ content })
export const report = (summary: string, more: object = {}): Answer => ({
  toolCalls: [call('report_result', { summary, ...more })],
})
export const toolNames = ({ tools = [] }: any): string[] => tools.map(({ function: { name } }: any) => name)

/** Returns the owner of a request: the first word of an agent's task, else the conversation. */
const whose = ({ messages }: any): string =>
  /^(?:[^]*\n\n)?([A-Z]+\d?) /.exec(messages.find(({ role }: any) => role === 'user')?.content ?? '')?.[1] ?? 'parent'

/** A server that answers a conversation by one script, and its agents by their own, by the first word of their task; then by `rest`. */
export async function speakers(
  scripts: Record<string, Answer[]>,
  rest: Answer = { content: 'Nothing more.' },
): Promise<{ url: string; bodies: (name?: string) => any[] }> {
  const { mock, stop } = await startMock()
  hold({ [Symbol.asyncDispose]: stop })
  for (const [name, script] of Object.entries(scripts)) {
    let next = 0
    script.forEach((step, index) => {
      const { how = {}, ...answer } = step
      mock.on(
        { predicate: (request: any) => whose(request) === name && next === index },
        (() => ((next += 1), answer)) as never,
        how,
      )
    })
  }
  mock.on({ predicate: () => true }, rest)
  return {
    url: mock.url,
    bodies: (name) =>
      mock
        .getRequests()
        .map(({ body }: any) => body)
        .filter((body: any) => name === undefined || whose(body) === name),
  }
}

interface Where {
  files?: Files
  subagents?: object
  model?: object
  limits?: AgentOptions['limits']
  options?: AgentOptions
  /** Answers of the person: yes, or a decision by the request. */
  approve?: true | ((request: Approval) => boolean)
  /** Further settings. */
  config?: object
  mode?: 'ask' | 'auto'
}
/** A conversation whose model answers by one script, and whose agents answer by their own. */
export async function delegation(
  parent: Answer[],
  parts: Record<string, Answer[]>,
  { files, subagents, model, limits, approve, options = {}, config = {}, mode = 'auto' }: Where = {},
) {
  const { url, bodies } = await speakers({ parent, ...parts })
  const provider = model ? { provider: model } : {}
  const booted = hold(
    await bootKernel({
      mode,
      ...(files && { files }),
      config: {
        ...settingsFor({ url }, provider),
        sandbox: { mode: 'off' },
        ...config,
        ...(subagents && { subagents }),
      } as never,
    }),
  )
  const events: any[] = []
  const all: AgentOptions = {
    env: { PEER_API_KEY: 'key-of-the-peer-0123' },
    onEvent: (event) => void events.push(event),
    ...(limits && { limits }),
    ...options,
    ...(approve && {
      providers: { ...options.providers, approval: { approve: approve === true ? () => true : approve } },
    }),
  }
  const agent: Agent = await createAgent(booted.kernel, all)
  hold({ [Symbol.asyncDispose]: () => agent.close() })
  const facts = (): any[] =>
    readFileSync(join(booted.root, '.vtcode/sessions', agent.session_id, 'messages.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  return {
    agent,
    events,
    kernel: booted.kernel,
    /** The program in the same place. */
    program: (...args: string[]) =>
      vtcode(
        {
          ...booted,
          env: { PATH: process.env['PATH']!, HOME: booted.home, VTCODE_HOME: join(booted.home, '.vtcode') },
        },
        args,
      ),
    root: booted.root,
    options: all,
    bodies,
    facts,
    /** The last status of each agent. */
    children: (): any[] => [
      ...new Map(facts().flatMap(({ kind, child }) => (kind === 'child' ? [[child.id, child] as const] : []))).values(),
    ],
    /** Answers to the calls of the conversation, as its model read them. */
    answers: (): string[] =>
      facts().flatMap(({ kind, message }) =>
        kind === 'message' && message.role === 'tool' ? message.parts.map(({ text }: any) => text as string) : [],
      ),
    /** The highest number that ran at once. */
    most(): number {
      const running = new Set<string>()
      return Math.max(
        0,
        ...facts().map(
          ({ kind, child }) => (
            kind === 'child' && (child.status === 'running' ? running.add(child.id) : running.delete(child.id)),
            running.size
          ),
        ),
      )
    },
  }
}
