import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { samplePoints } from '../support/sample.js'
import { checkLog, checkMemory, checkMessages } from '../support/invariants.js'
import { call, home, logOf, startPeer, vtcode, type Answer, type Home } from '../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
const killing = join(import.meta.dirname, '../support/kill.mjs')
const names = ['ONE', 'TWO', 'SIX']
const spawn = (name: string) =>
  call('agents', {
    action: 'spawn',
    message: `${name} Find out what the file says and report it.`,
    agent: 'explorer',
    background: name === 'TWO',
  })

/** Answers by the requests so far, so that a repeated run finds its place. */
function answer({ messages }: any): Answer {
  const told = messages.find(({ role }: any) => role === 'user').content as string
  const name = names.find((one) => told.includes(`${one} `))
  const answered = messages.filter(({ role }: any) => role === 'assistant').length
  if (name === undefined) return answered === 0 ? { toolCalls: names.map(spawn) } : { content: 'All done.' }
  return answered === 0
    ? { content: `${name} begins.`, toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] }
    : { toolCalls: [call('report_result', { summary: `${name} is done.`, facts: [`${name} read a.txt`] })] }
}
const sessions = (place: Home): string => join(place.root, '.vtcode/sessions')
function recordsIn(place: Home, id: string): any[] {
  const file = join(sessions(place), id, 'messages.jsonl')
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    : []
}

describe('a conversation with three agents', () => {
  it('recovers from a kill after any journal write with each agent once, ended, and with its report', async () => {
    const explore = async (kill: number) => {
      const peer = await startPeer(Array.from({ length: 40 }, () => answer))
      const place = await home(peer, { 'a.txt': 'a\n' })
      held.push(peer, place)
      const steps = join(place.home, 'steps')
      const { code } = await vtcode(place, ['exec', '--mode', 'auto', '--session-id', 'ses_parent', 'Explore.'], {
        node: ['--import', killing],
        env: { KILL_AFTER: String(kill), STEPS: steps },
      })
      return { peer, place, code, writes: Number(readFileSync(steps, 'utf8')) }
    }
    const { code, writes } = await explore(0)
    expect(code).toBe(0)
    expect(writes).toBeGreaterThan(40)
    const points = Array.from({ length: writes - 1 }, (_, index) => index + 1)
    for (const n of samplePoints(points, 8)) {
      const { peer, place, code } = await explore(n)
      expect(code, `killed after ${n}`).toBe(null)
      const about = `after ${n} writes`
      const before = new Map(
        recordsIn(place, 'ses_parent').flatMap(({ kind, child }) =>
          kind === 'child' ? [[child.id, child.status]] : [],
        ),
      )
      // The interrupted turn continues, or gives way to a new task.
      const open =
        recordsIn(place, 'ses_parent').findLast(({ kind }) => kind.startsWith('turn_'))?.kind === 'turn_start'
      const ended = await vtcode(place, [
        '--mode',
        'auto',
        ...(open && n % 2 === 0
          ? ['resume', 'ses_parent', '--continue-turn']
          : ['exec', '--resume', 'ses_parent', 'Go on.']),
      ])
      expect([ended.code, ended.out], `${about}: ${ended.err}`).toEqual([0, 'All done.\n'])
      const records = recordsIn(place, 'ses_parent')
      const children = new Map(
        records.flatMap(({ kind, child, report }) =>
          kind === 'child' ? [[child.id, { ...child, report }] as const] : [],
        ),
      )
      expect(
        [...children.values()].filter(({ status }) => !['completed', 'failed'].includes(status)),
        about,
      ).toEqual([])
      for (const { id, session_id, status, error, summary } of children.values()) {
        if (status === 'failed')
          expect([before.get(id), error.code], about).toEqual([
            expect.stringMatching(/queued|running/),
            'VT_SESSION_INTERRUPTED',
          ])
        const own = recordsIn(place, session_id)
        const reported = own.some(
          ({ kind, call_id, is_error }) => kind === 'call_end' && call_id === 'c2-0' && !is_error,
        )
        const began = own.some(({ kind, message }) => kind === 'message' && message.role === 'assistant')
        expect(summary ?? '', about).toMatch(
          status === 'completed' || reported ? /is done\.$/ : began ? /begins\.$/ : /^$/,
        )
      }
      checkMemory((await place.read('.vtcode/sessions/ses_parent/memory.json'))!)
      checkLog(logOf(place, 'ses_parent'))
      for (const { messages } of peer.bodies) checkMessages(messages)
      for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
    }
  })
})
