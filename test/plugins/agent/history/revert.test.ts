import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { resolveHome } from '../../../../build/core/system/index.js'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { listPastTurns, readRecords, revert } from '../../../../build/plugins/agent/history/index.js'
import { formatRecord, openStore } from '../../../../build/plugins/agent/session/index.js'
import { contentHash } from '../../../../build/plugins/lib/base/index.js'
import { findMissingParents, recordChange, readVersion, type Step } from '../../../../build/plugins/lib/files/index.js'
import { fc, runs } from '../../../support/property.js'

const SESSION = 'ses_REVERTED'
const PATHS = ['a.txt', 'b.txt', 'dir/c.txt', 'dir/sub/d.txt']
type Change = { op: 'write'; path: string; text: string } | { op: 'remove' | 'rename'; path: string; to: string }

const path = fc.constantFrom(...PATHS)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ op: fc.constant('write' as const), path, text: fc.string({ maxLength: 4 }) }),
  fc.record({ op: fc.constantFrom('remove' as const, 'rename' as const), path, to: path }),
)
const turns = fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 4 })

/** Waits for the next millisecond: checkpoints and turns are ordered by their times. */
async function nextTick(): Promise<string> {
  const start = Date.now()
  while (Date.now() === start) await new Promise(setImmediate)
  return new Date().toISOString()
}

/** A session on disk whose turns change files the way that tools do: each change with its checkpoint. */
async function startSession() {
  const place = await tempWorkspace({ 'a.txt': 'first' })
  const workspace = openWorkspace(place.root, { home: resolveHome({ home: place.home, env: {} }) })
  const lines: string[] = []
  const record = (step: Step, work: () => Promise<unknown>) =>
    recordChange({ slot: 'test', id: `call-${lines.length}` }, { workspace, session: { id: SESSION } }, [step], work)

  async function apply(one: Change): Promise<void> {
    await nextTick()
    const over = await readVersion(workspace, one.path)
    const before = over && { sha256: over.sha256, mode: over.stat.mode & 0o7777, bytes: over.stat.bytes }
    if (one.op === 'write') {
      const bytes = Buffer.from(one.text)
      const made = await findMissingParents(one.path, workspace)
      const step: Step = { op: 'write', path: one.path, ...(before && { before }), after: contentHash(bytes), made }
      await record(step, () => workspace.write(one.path, bytes, over ?? 'nothing'))
    } else if (before && one.op === 'remove')
      await record({ op: 'remove', path: one.path, before }, () => workspace.remove(one.path))
    else if (before && !(await workspace.stat(one.to))) {
      const step: Step = { op: 'rename', from: one.path, to: one.to, made: await findMissingParents(one.to, workspace) }
      await record(step, () => workspace.rename(one.path, one.to))
    }
  }
  return {
    workspace,
    apply,
    async turn(number: number, changes: readonly Change[]): Promise<void> {
      const store = await openStore(workspace, SESSION, { must_exist: false })
      const ts = await nextTick()
      const input = { role: 'user' as const, parts: [{ type: 'text' as const, text: `prompt ${number}` }] }
      lines.push(
        formatRecord({ kind: 'turn_start', turn_id: `tn_${number}`, input }, lines.length + 1, number, ts, store.mark),
      )
      lines.push(formatRecord({ kind: 'turn_end', status: 'completed' }, lines.length + 1, number, ts, store.mark))
      await store.append('messages.jsonl', lines.slice(-2).join(''))
      await store.close()
      for (const one of changes) await apply(one)
    },
    async files(): Promise<Record<string, string>> {
      const texts = await Promise.all(PATHS.map((path) => workspace.readText(path).catch(() => undefined)))
      return Object.fromEntries(PATHS.flatMap((path, at) => (texts[at] === undefined ? [] : [[path, texts[at]]])))
    },
    revert: async (turn: number, how: { force?: boolean; dry_run?: boolean; scope?: 'code' | 'both' } = {}) => {
      await nextTick()
      return revert(workspace, SESSION, { turn, scope: 'code', paths: [], ...how }, Date.now())
    },
    async [Symbol.asyncDispose]() {
      workspace.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

describe('revert', () => {
  it('restores the files of any turn, and a revert of that revert restores the latest files', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.nat(), async (plan, which) => {
        await using session = await startSession()
        const past: Record<string, string>[] = []
        for (const [index, changes] of plan.entries()) {
          past.push(await session.files())
          await session.turn(index + 1, changes)
        }
        const latest = await session.files()
        const turn = (which % plan.length) + 1
        const dry = await session.revert(turn, { dry_run: true })
        expect(await session.files()).toEqual(latest)
        const done = await session.revert(turn)
        expect(await session.files()).toEqual(past[turn - 1])
        expect([done.turn, done.reverted, done.skipped]).toEqual([plan.length + 1, dry.reverted, []])
        const changed = PATHS.filter((path) => latest[path] !== past[turn - 1]![path])
        expect([...done.reverted].sort()).toEqual(changed.sort())
        await session.revert(plan.length + 1)
        expect(await session.files()).toEqual(latest)
      }),
      { numRuns: runs(12) },
    )
  })

  it('rejects a file that somebody else changed and changes nothing, unless the caller forces it', async () => {
    await using session = await startSession()
    await session.turn(1, [
      { op: 'write', path: 'a.txt', text: 'ours' },
      { op: 'write', path: 'b.txt', text: 'ours' },
    ])
    await session.workspace.write('a.txt', Buffer.from('theirs'), 'anything')
    await expect(session.revert(1)).rejects.toMatchObject({
      code: 'VT_REVERT_CONFLICT',
      message: 'Changed since by somebody else: a.txt. Nothing was reverted.',
    })
    expect(await session.files()).toEqual({ 'a.txt': 'theirs', 'b.txt': 'ours' })
    await session.revert(1, { force: true })
    expect(await session.files()).toEqual({ 'a.txt': 'first' })
  })

  it('restores a removed file whose name a later rename took', async () => {
    await using session = await startSession()
    await session.turn(1, [
      { op: 'write', path: 'b.txt', text: 'second' },
      { op: 'remove', path: 'a.txt', to: 'a.txt' },
    ])
    await session.turn(2, [{ op: 'rename', path: 'b.txt', to: 'a.txt' }])
    await session.revert(1)
    expect(await session.files()).toEqual({ 'a.txt': 'first' })
  })

  it('names the turns that exist when the requested turn does not', async () => {
    await using session = await startSession()
    await session.turn(1, [])
    await expect(session.revert(2)).rejects.toMatchObject({
      code: 'VT_REVERT_NO_CHECKPOINT',
      message: expect.stringContaining('has no turn 2; it has 1'),
    })
  })

  it('removes the reverted turns from the list of past turns and keeps their records', async () => {
    await using session = await startSession()
    for (const turn of [1, 2, 3]) await session.turn(turn, [{ op: 'write', path: 'a.txt', text: `${turn}` }])
    await session.revert(2, { scope: 'both' })
    expect(await session.files()).toEqual({ 'a.txt': '1' })
    expect((await listPastTurns(session.workspace, SESSION)).map(({ text }) => text)).toEqual(['prompt 1'])
    const kinds = (await readRecords(session.workspace, SESSION)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'turn_start')).toHaveLength(3)
    expect(kinds.slice(-2)).toEqual(['revert', 'note'])
  })
})
