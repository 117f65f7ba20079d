import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import {
  formatRecord,
  LeaseFence,
  openStore,
  readLeaseVariable,
} from '../../../../build/plugins/agent/session/index.js'
import { readMonotonicClock } from '../../../../build/plugins/lib/base/index.js'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))
/** Opens the store of a session under lease 2, whose file the test writes. */
async function scene() {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-lease-'))
  folders.push(root)
  const file = join(root, 'lease.json')
  const renew = (more: object = {}) =>
    writeFileSync(file, JSON.stringify({ number: 2, until: readMonotonicClock() + 60_000, saved: 0, ...more }))
  renew()
  const workspace = openWorkspace(root, { home: root, user: root })
  const fence = new LeaseFence(2, file)
  const store = await openStore(workspace, 'ses_one', { must_exist: false, fence })
  const close = () => store.close().then(() => workspace.close())
  return { root, file, renew, fence, store, [Symbol.asyncDispose]: close }
}
const lost = (text: string) => ({ code: 'VT_QUEUE_LOST', message: expect.stringContaining(text) })

describe('LeaseFence', () => {
  it('lets a store write under its lease; each record carries the number', async () => {
    await using here = await scene()
    const { store, root } = here
    const line = formatRecord(
      { kind: 'note', text: 'hi' } as never,
      1,
      1,
      '2026-12-01T00:00:00.000Z',
      store.mark,
      store.lease,
    )
    await store.append('messages.jsonl', line)
    const kept = readFileSync(join(root, '.vtcode/sessions/ses_one/messages.jsonl'), 'utf8')
    expect(JSON.parse(kept)).toMatchObject({ n: 1, lease: 2, text: 'hi' })
  })
  it.each([
    ['a greater number', { number: 3 }, 'lease 3 replaced it'],
    ['no time left', { until: 0 }, 'it was not renewed'],
    ['no number', { number: undefined }, 'it was not renewed'],
  ])('refuses every write once the lease has %s', async (_, more, text) => {
    await using here = await scene()
    const { renew, store, root } = here
    await store.append('messages.jsonl', '{}\n')
    renew(more)
    await expect(store.append('messages.jsonl', '{"late":1}\n')).rejects.toMatchObject(lost(text))
    await expect(store.append('events.jsonl', '{"late":1}\n')).rejects.toMatchObject(lost(text))
    await expect(store.write('manifest.json', '{}')).rejects.toMatchObject(lost(text))
    await expect(store.write('prompts/a', 'late')).rejects.toMatchObject(lost(text))
    await expect(store.roll('events.jsonl')).rejects.toMatchObject(lost(text))
    await expect(store.archive('a.txt', 'late')).rejects.toMatchObject(lost(text))
    await expect(store.cut('messages.jsonl', 0)).rejects.toMatchObject(lost(text))
    expect(readFileSync(join(root, '.vtcode/sessions/ses_one/messages.jsonl'), 'utf8')).toBe('{}\n')
  })
  it('refuses writes without the file of the lease, or with a damaged one', async () => {
    await using here = await scene()
    writeFileSync(here.file, '{')
    await expect(here.store.append('messages.jsonl', '{}\n')).rejects.toMatchObject(lost('it was not renewed'))
    rmSync(here.file)
    await expect(here.store.append('messages.jsonl', '{}\n')).rejects.toMatchObject(lost('it was not renewed'))
  })
  it('waits until the server has a step, and ends the wait with the lease', async () => {
    await using here = await scene()
    const waiting = here.fence.waitForSave(1)
    here.renew({ saved: 1 })
    await waiting
    const late = here.fence.waitForSave(2)
    const signal = here.fence.watch()
    here.renew({ number: 3 })
    await expect(late).rejects.toMatchObject(lost('lease 3'))
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    expect(signal.reason).toMatchObject(lost('lease 3'))
  })
})

describe('readLeaseVariable', () => {
  it('reads number and file; other runs have no fence', () => {
    expect(readLeaseVariable({ VTCODE_LEASE: '7:/a:b/lease.json' })?.number).toBe(7)
    for (const env of [{}, { VTCODE_LEASE: '' }, { VTCODE_LEASE: 'x:/a' }])
      expect(readLeaseVariable(env)).toBeUndefined()
  })
})
