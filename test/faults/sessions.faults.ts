import { mkdtempSync, cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { samplePoints } from '../support/sample.js'
import { checkLog, checkMessages } from '../support/invariants.js'
import { call, home, logOf, startPeer, vtcode, type Answer, type Home, type Peer } from '../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
const killing = join(import.meta.dirname, '../support/kill.mjs')
const summary = JSON.stringify({
  goal: 'the goal',
  constraints: [],
  done: [],
  facts: [],
  open_questions: [],
  next_steps: [],
})

/** Makes three turns in a workspace, each of which wrote its number to a file, with a peer that always answers. */
async function scene(): Promise<{ peer: Peer; place: Home; id: string }> {
  const answer = (body: any): Answer => {
    const last = body.messages.at(-1)
    if (JSON.stringify(body.messages).includes('You shorten the record')) return { content: summary }
    const turn = /^turn (\d)$/.exec(last.content)?.[1]
    return turn
      ? {
          toolCalls: [
            call('unified_file', { action: 'write', path: 'a.txt', content: `${turn}\n`, mode: 'overwrite' }),
          ],
        }
      : { content: 'done' }
  }
  const peer = await startPeer(Array.from({ length: 400 }, () => answer))
  const place = await home(peer)
  held.push(peer, place)
  for (const turn of [1, 2, 3])
    expect(
      (await vtcode(place, ['exec', '--mode', 'auto', `turn ${turn}`, ...(turn === 1 ? [] : ['--resume', 'last'])]))
        .code,
    ).toBe(0)
  const [{ session_id }] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
  return { peer, place, id: session_id }
}

/** Runs a command line from the same files, each time killed after a later step; returns the number of its steps. */
async function struck(
  place: Home,
  args: string[],
  input: string | undefined,
  check: (title: string) => Promise<void>,
): Promise<number> {
  const saved = mkdtempSync(join(tmpdir(), 'vtcode-struck-'))
  cpSync(place.root, saved, { recursive: true })
  try {
    const log = join(place.home, 'steps')
    const run = (kill: number) =>
      vtcode(place, args, {
        node: ['--import', killing],
        env: { KILL_AFTER: String(kill), KILL_AT: 'step', STEPS: log },
        ...(input !== undefined && { input }),
      })
    const restore = () => {
      // The folder itself stays, since the seal belongs to it.
      for (const name of readdirSync(place.root)) rmSync(join(place.root, name), { recursive: true })
      cpSync(saved, place.root, { recursive: true })
    }
    expect((await run(0)).code).toBe(0)
    const steps = Number(readFileSync(log, 'utf8'))
    const points = Array.from({ length: steps - 1 }, (_, index) => index + 1)
    for (const n of samplePoints(points, 6)) {
      restore()
      expect((await run(n)).code, `killed after step ${n}`).toBe(null)
      await check(`${args.join(' ')} killed after step ${n}`)
    }
    return steps
  } finally {
    rmSync(saved, { recursive: true, force: true })
  }
}
const said = (peer: Peer): string[] =>
  peer.bodies
    .at(-1)
    .messages.slice(1)
    .flatMap(({ role, content }: any) => (role === 'user' ? [content] : []))

describe('a session killed at every step', () => {
  it('keeps the whole conversation or the compacted one when killed during compaction', async () => {
    const { peer, place, id } = await scene()
    const steps = await struck(place, ['chat', '--plain', '--resume', id], '/compact\n', async (title) => {
      expect((await vtcode(place, ['exec', '--resume', id, 'and now?'])).code, title).toBe(0)
      const words = said(peer)
      const whole = ['turn 1', 'turn 2', 'turn 3', 'and now?']
      expect(
        words.filter((word) => !word.startsWith('<')),
        title,
      ).toEqual(whole)
      expect(
        words.length === whole.length ||
          (words[0]!.startsWith('<session_memory>') && words[1]!.startsWith('<conversation_summary>')),
        title,
      ).toBe(true)
      checkMessages(peer.bodies.at(-1).messages)
      checkLog(logOf(place, id))
    })
    expect(steps).toBeGreaterThan(8)
  })

  it('keeps the old session unchanged, and the fork whole or absent, when killed while forking', async () => {
    const { peer, place, id } = await scene()
    const journal = () => readFileSync(join(place.root, '.vtcode/sessions', id, 'messages.jsonl'), 'utf8')
    const before = journal()
    const steps = await struck(place, ['resume', id, '--fork', 'another way'], undefined, async (title) => {
      expect(journal(), title).toBe(before)
      const all = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
      const forked = all.find(({ parent_session_id }: any) => parent_session_id === id)
      if (!forked) return
      expect((await vtcode(place, ['exec', '--resume', forked.session_id, 'and now?'])).code, title).toBe(0)
      expect(
        said(peer).filter((word) => word !== 'another way'),
        title,
      ).toEqual(['turn 1', 'turn 2', 'turn 3', 'and now?'])
      checkLog(logOf(place, forked.session_id))
    })
    expect(steps).toBeGreaterThan(8)
  })

  it('reverts files and conversation both or neither when killed while reverting', async () => {
    const { peer, place, id } = await scene()
    const steps = await struck(place, ['revert', '--session', id, '--turn', '2'], undefined, async (title) => {
      expect((await vtcode(place, ['exec', '--resume', id, 'and now?'])).code, title).toBe(0)
      const state = `${(await place.read('a.txt'))!.trim()}: ${said(peer).join(', ')}`
      expect(['3: turn 1, turn 2, turn 3, and now?', '1: turn 1, and now?'], title).toContain(state)
      checkLog(logOf(place, id))
    })
    expect(steps).toBeGreaterThan(4)
  })
})
