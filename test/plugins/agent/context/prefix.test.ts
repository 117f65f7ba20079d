import { describe, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { hold } from '../../../support/inside.js'
import { call, home, startPeer, vtcode } from '../../../support/peer.js'

const read = (path: string) => ({ toolCalls: [call('unified_file', { action: 'read', path }) as never] })
const steps = (out: string): any[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'step.completed')

describe('the prefix of requests', () => {
  it('reports the common bytes of each request, and no break in the steps of one conversation', async () => {
    const count = rounds(35, 200)
    const files = Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.txt`, `text ${at}\n`.repeat(40)]))
    const peer = hold(await startPeer([...Object.keys(files).map(read), { content: 'done' }]))
    const settings = {
      agent: { model: 'peer/m', harness: { max_tool_calls_per_turn: 0 } },
      tools: { max_tool_loops: 0 },
    }
    const place = hold(await home(peer, files, { settings } as never))
    const { out } = await vtcode(place, ['exec', '--json', '--mode', 'auto', 'go'])
    const prefixes = steps(out).map(({ prefix }) => prefix)
    expect(prefixes.length).toBe(count + 1)
    expect(prefixes[0]).toMatchObject({ common_bytes: 0 })
    for (const [at, prefix] of prefixes.entries()) {
      expect(prefix.broken_by).toBeUndefined()
      if (at > 0) expect(prefix.common_bytes).toBe(prefixes[at - 1].bytes)
    }
    // The requests themselves begin alike, too.
    const sent = peer.bodies.map(({ tools, messages }: any) =>
      JSON.stringify([tools, ...messages]).slice(0, -1),
    ) as string[]
    for (const [at, text] of sent.entries()) if (at > 0) expect(text.startsWith(sent[at - 1]!)).toBe(true)
  })

  it('names what broke the prefix, and its price where the model has one', async () => {
    const provider = {
      models: ['m', 'n'],
      profiles: { n: { cost: { input: 10, output: 10, cache_read: 1 } } },
      retries: { request: 0, stream: 0 },
    }
    const peer = hold(
      await startPeer([
        read('a.txt'),
        { error: { message: 'no', type: 'server_error' }, status: 500 } as never,
        { content: 'done' },
      ]),
    )
    const settings = { agent: { model: 'peer/m', fallback_models: ['peer/n'] } }
    const place = hold(await home(peer, { 'a.txt': 'alpha' }, { provider, settings } as never))
    const { out } = await vtcode(place, ['exec', '--json', '--mode', 'auto', 'go'])
    const [, last] = steps(out)
    expect(last.prefix).toMatchObject({ broken_by: 'model', common_bytes: 0, lost_bytes: expect.any(Number) })
    expect(last.prefix.lost_tokens).toBeGreaterThan(0)
    expect(last.prefix.lost_usd).toBeCloseTo((last.prefix.lost_tokens * 9) / 1e6, 10)
    const { session_id } = JSON.parse(out.split('\n')[0]!)
    const trace = await vtcode(place, ['trace', session_id, '--format', 'text'])
    expect(trace.out).toMatch(/prefix broken by model: \d+ bytes/)
  })
})
