import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, type AgentOptions } from 'vtcode/agent'
import { bootKernel } from 'vtcode/test'
import { createKernel, openWorkspace, type Kernel } from 'vtcode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  formatJunit,
  openRecording,
  Replayer,
  type SessionReplay,
} from '../../../../build/plugins/agent/replay/index.js'
import { formatRecord, readJournal } from '../../../../build/plugins/agent/session/index.js'
import { rounds } from '../../../support/exec.js'
import {
  call,
  home,
  settingsFor,
  markIn,
  startPeer,
  vtcode,
  type Answer,
  type Home,
  type Peer,
} from '../../../support/peer.js'
import { fc } from '../../../support/property.js'

const env = { PEER_API_KEY: 'key-of-the-peer-0123' }
const replayWith = async (kernel: Kernel, id: string): Promise<SessionReplay> => {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const replayer = new Replayer({ kernel, workspace, env: {}, accepted: new Set() })
    return await replayer.replay(await openRecording(workspace, id))
  } finally {
    workspace.close()
  }
}
const sessionsIn = (root: string): string[] =>
  readdirSync(join(root, '.vtcode/sessions')).filter((id) => id.startsWith('ses_'))

const files = Object.fromEntries(
  Array.from({ length: 6 }, (_, index) => [`f${index}.txt`, `word${index} of a large file\n`.repeat(500)]),
)
const tool = (name: string, input: unknown): Answer => ({ toolCalls: [call(name, input)] })
const reads = Object.keys(files).map((path) => tool('unified_file', { action: 'read', path }))
/** Answers of a model over the tools, with failures. */
const answers = fc.oneof<fc.Arbitrary<Answer>[]>(
  fc.nat(6).map((index) => tool('unified_file', { action: 'read', path: `f${index}.txt` })),
  fc.nat(5).map((index) => tool('unified_search', { action: 'grep', pattern: `word${index}` })),
  fc.constant(tool('unified_search', { action: 'list' })),
  fc
    .tuple(fc.nat(9), fc.string())
    .map(([index, content]) => tool('unified_file', { action: 'write', path: `new${index}.txt`, content })),
  fc
    .nat(5)
    .map((index) => tool('unified_file', { action: 'edit', path: `f${index}.txt`, old_str: 'word', new_str: 'w' })),
  fc.nat(5).map((index) => tool('unified_file', { action: 'delete', path: `f${index}.txt` })),
  fc.constant(tool('unified_exec', { action: 'run', command: 'echo \u001b[31mred; exit 3' })),
  fc.constant(tool('task_tracker', { action: 'create', items: ['one', 'two'] })),
  fc.constant(tool('task_tracker', { action: 'update', index: 1, status: 'completed' })),
  fc.constant(tool('agents', { action: 'spawn', agent: 'explorer', message: 'Look for all of the words here.' })),
  fc.constant(tool('no_such_tool', { a: 1 })),
  fc.constant<Answer>({ toolCalls: [call('unified_file', '{"action": "read", "path')] }),
  fc.constant<Answer>({ content: 'I think.', reasoning: 'Hmm.', toolCalls: [call('list_skills', {})] }),
  fc.constant<Answer>({ content: 'Done.' }),
  fc.constant<Answer>({ error: { message: 'overloaded' }, status: 503 }),
  fc.constant<Answer>({ content: 'cut', how: { truncateAfterChunks: 1 } }),
  fc.string().map((content) => ({ content })),
)

describe('Replayer on generated sessions', () => {
  it('builds every request of every session again, byte for byte', async () => {
    const seen = { sessions: 0, requests: 0, compactions: 0, children: 0, cancelled: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(answers, { minLength: 1, maxLength: 14 }),
        fc.boolean(),
        fc.option(fc.nat(6), { freq: 3 }),
        async (script, small, cancelAt) => {
          await using peer = await startPeer([
            ...(small ? reads : []),
            ...script,
            ...Array.from({ length: 60 }, () => ({ content: 'end' })),
          ])
          const provider = { retries: { request: 0, stream: 0 }, ...(small && { context_window: 20_000 }) }
          const settings = settingsFor(peer, { provider, settings: { sandbox: { mode: 'off' } } })
          await using booted = await bootKernel({ mode: 'auto', files, config: settings as never })
          const { kernel } = booted
          const run = async (task: string, options: AgentOptions, signal?: AbortSignal) => {
            const providers = { approval: { approve: () => true } }
            const agent = await createAgent(kernel, { env, providers, ...options })
            return agent.run(task, signal && { signal }).finally(() => agent.close())
          }
          const stop = new AbortController()
          let steps = 0
          const onEvent = ({ type }: { type: string }) => {
            if (type === 'thread.compact_boundary') seen.compactions += 1
            if (type === 'step.completed' && steps++ === cancelAt) stop.abort()
          }
          const how = { session_id: 'ses_one', onEvent }
          const first = await run('do it', how, stop.signal)
          if (first.outcome_code === 'cancelled') seen.cancelled += 1
          await run('and now?', { resume: 'ses_one' })
          for (const id of sessionsIn(kernel.workspace)) {
            const result = await replayWith(kernel, id)
            // A session whose first answer never came has nothing to compare.
            if (result.status === 'unknown' && result.reason === 'The session has no answer of a model.') continue
            expect(result).toMatchObject({ session_id: id, status: 'equal' })
            seen.sessions += 1
            seen.children += id === 'ses_one' ? 0 : 1
            seen.requests += result.requests
          }
        },
      ),
      { numRuns: rounds(14, 1000) },
    )
    expect(seen.sessions).toBeGreaterThanOrEqual(rounds(11, 900))
    expect(seen.compactions).toBeGreaterThan(0)
    expect(seen.children).toBeGreaterThan(0)
    expect(seen.cancelled).toBeGreaterThan(0)
  }, 3_600_000)
})

describe('Replayer after a change of one byte', () => {
  let peer: Peer
  let place: Home
  let kernel: Kernel
  const manifest = '.vtcode/plugins/hello/vtcode.yaml'
  const describeTool = (text: string) => `name: hello\ndescription: ${JSON.stringify(text)}\nrun: [echo, hello]\n`
  const description = 'Says hello to the person who asks.'
  const folder = () => join(place.root, '.vtcode/sessions/ses_one')
  beforeAll(async () => {
    const read = (path: string): Answer => tool('unified_file', { action: 'read', path })
    peer = await startPeer([
      read('f1.txt'),
      tool('unified_search', { action: 'list' }),
      { content: 'Listed.' },
      read('f2.txt'),
      read('missing.txt'),
      { content: 'Done.' },
    ])
    place = await home(peer, { ...files, 'AGENTS.md': 'Use two spaces, and name things well.\n' })
    mkdirSync(join(place.home, '.vtcode/plugins/hello'), { recursive: true })
    writeFileSync(join(place.home, manifest), describeTool(description))
    expect((await vtcode(place, ['exec', '--session-id', 'ses_one', 'list them'])).code).toBe(0)
    expect((await vtcode(place, ['resume', 'ses_one', 'and the others?'])).code).toBe(0)
    kernel = await open()
  })
  afterAll(async () => {
    await kernel?.close()
    await place?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
  })
  const open = () => createKernel({ workspace: place.root, home: place.home, env: place.env })

  /** Changes the letter at a place; the place counts from the start of the letters. */
  const change = (text: string, at: number): string => {
    const places = [...text.matchAll(/[a-z]/g)].map(({ index }) => index)
    const place = places[at % places.length]!
    return text.slice(0, place) + (text[place] === 'q' ? 'k' : 'q') + text.slice(place + 1)
  }
  const writeWhile = async (path: string, text: string, run: () => Promise<SessionReplay>): Promise<SessionReplay> => {
    const before = readFileSync(path)
    writeFileSync(path, text)
    try {
      return await run()
    } finally {
      writeFileSync(path, before)
    }
  }

  it('finds no difference without one', async () => {
    expect(await replayWith(kernel, 'ses_one')).toMatchObject({ status: 'equal', requests: 6 })
  })

  it('finds it at the first request that it reaches, wherever it is', async () => {
    const journal = join(place.root, '.vtcode/sessions/ses_one/messages.jsonl')
    const { records } = readJournal(readFileSync(journal, 'utf8'))
    const texts = records.flatMap((record: any, index) => {
      const message = record.message ?? record.input
      return (message?.parts ?? []).flatMap((part: any, at: number) =>
        typeof part.text === 'string' && /[a-z]/.test(part.text) ? [{ index, at }] : [],
      )
    })
    /** The step of the first answer after a record; the last answer of a session reaches no request. */
    const stepAfter = (index: number): number | undefined => {
      const before = records.slice(0, index + 1).filter((one: any) => one.message?.role === 'assistant').length
      const later = records.slice(index + 1).some((one: any) => one.message?.role === 'assistant')
      return later ? before + 1 : undefined
    }
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('prompt', 'tool', 'stored', 'message'),
        fc.nat(),
        fc.nat(),
        async (kind, which, at) => {
          seen.add(kind)
          const replay = () => replayWith(kernel, 'ses_one')
          if (kind === 'prompt') {
            const path = join(place.root, 'AGENTS.md')
            const found = await writeWhile(path, change(readFileSync(path, 'utf8'), at), replay)
            expect(found).toMatchObject({ status: 'different', difference: { step: 1, part: 'prompt' } })
          } else if (kind === 'tool') {
            const found = await writeWhile(
              join(place.home, manifest),
              describeTool(change(description, at)),
              async () => {
                await kernel.reload()
                return replay()
              },
            )
            await kernel.reload()
            expect(found).toMatchObject({ difference: { step: 1, part: 'tools', where: 'tool hello' } })
          } else if (kind === 'stored') {
            const names = readdirSync(join(folder(), 'prompts'))
            const path = join(folder(), 'prompts', names[which % names.length]!)
            const found = await writeWhile(path, change(readFileSync(path, 'utf8'), at), replay)
            expect(found.difference?.where).toMatch(/^the stored (prompt|tools)$/)
          } else {
            const { index, at: part } = texts[which % texts.length]!
            const lines = records.map((record: any, place_) => {
              const { n, ts, turn, crc: _, seal: __, ...fact } = structuredClone(record)
              const changed = place_ === index ? (fact.message ?? fact.input).parts[part] : undefined
              if (changed) changed.text = change(changed.text, at)
              return formatRecord(fact, n, turn, ts, (text: string) => markIn(place, 'ses_one', text))
            })
            const found = await writeWhile(journal, lines.join(''), replay)
            const step = stepAfter(index)
            expect(found).toMatchObject(
              step === undefined ? { status: 'equal' } : { difference: { step, part: 'messages' } },
            )
          }
        },
      ),
      { numRuns: rounds(16, 200) },
    )
    expect(seen.size).toBe(4)
  }, 600_000)
})

describe('formatJunit', () => {
  it('escapes marks, control characters and lone surrogates', () => {
    const text = formatJunit('a<b', [
      { name: 'x & "y"', seconds: 0.5, failure: { message: 'in\u0000valid \ud800', text: '<![CDATA[ ]]>' } },
      { name: 'ok', seconds: 0 },
      { name: 'left', seconds: 0, skipped: "it's old" },
    ])
    expect(text).toContain('<testsuite name="a&#60;b" tests="3" failures="1" errors="0" skipped="1" time="0.500">')
    expect(text).toContain('message="in\ufffdvalid \ufffd"')
    expect(text).not.toContain('CDATA[ ]]>')
  })
})
