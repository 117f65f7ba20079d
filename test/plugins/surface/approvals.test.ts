import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { call, home, startPeer, vtcode, type Home } from '../../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
const step = { toolCalls: [call('unified_exec', { action: 'run', command: 'echo ran >> log.txt' })] }
async function scene(script: Parameters<typeof startPeer>[0], async_approval: object = {}): Promise<Home> {
  const peer = await startPeer(script)
  const place = await home(
    peer,
    {},
    { settings: { agent: { model: 'peer/m', harness: { async_approval: { enabled: true, ...async_approval } } } } },
  )
  held.push(peer, place)
  return place
}
const waiting = async (place: Home): Promise<any[]> =>
  JSON.parse((await vtcode(place, ['approvals', 'list', '--json'])).out)
/** Waits for the first question and returns it. */
async function question(place: Home): Promise<any> {
  await expect.poll(() => waiting(place), { interval: 200 }).toHaveLength(1)
  return (await waiting(place))[0]
}

it('runs a call once after an approval from another process', async () => {
  const place = await scene([step, { content: 'done' }], { notify_command: ['/bin/sh', '-c', 'cat > told.json'] })
  const run = vtcode(place, ['exec', '--mode', 'ask', 'go'], { process: true })
  const asked = await question(place)
  expect(asked).toMatchObject({
    tool: 'unified_exec',
    call_id: 'c1-0',
    input: { command: 'echo ran >> log.txt' },
    reason: expect.any(String),
    token: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect((await vtcode(place, ['approvals'])).out).toMatch(new RegExp(`^${asked.token}  until \\S+  unified_exec  `))
  expect(await vtcode(place, ['approvals', 'approve', asked.token], { env: { VTCODE: '1' } })).toMatchObject({
    code: 1,
    err: expect.stringContaining('A command of an agent cannot answer'),
  })
  expect(existsSync(join(place.root, 'log.txt'))).toBe(false)
  expect((await vtcode(place, ['approvals', 'approve', asked.token])).code).toBe(0)
  expect(await run).toMatchObject({ code: 0, out: 'done\n' })
  expect(readFileSync(join(place.root, 'log.txt'), 'utf8')).toBe('ran\n')
  expect(JSON.parse(readFileSync(join(place.root, 'told.json'), 'utf8'))).toMatchObject({ token: asked.token })
  expect(await waiting(place)).toEqual([])
})

it('resumes a run killed while it waits, and uses the approval given meanwhile', async () => {
  const place = await scene([step, { content: 'done' }])
  let child: { kill(signal: string): boolean } | undefined
  const run = vtcode(place, ['exec', '--mode', 'ask', 'go'], { started: (one) => (child = one as never) })
  const { token } = await question(place)
  child!.kill('SIGKILL')
  await run
  expect((await vtcode(place, ['approvals', 'approve', token])).code).toBe(0)
  expect(await vtcode(place, ['--mode', 'ask', 'resume', '--last', '--continue-turn'])).toMatchObject({
    code: 0,
    out: 'done\n',
  })
  expect(readFileSync(join(place.root, 'log.txt'), 'utf8')).toBe('ran\n')
  expect(await waiting(place)).toEqual([])
})

it('reports a rejection to the model with its reason', async () => {
  const place = await scene([step, { content: 'done' }, { content: 'then not' }])
  const run = vtcode(place, ['exec', '--mode', 'ask', '--json', 'go'], { process: true })
  const { token } = await question(place)
  expect((await vtcode(place, ['approvals', 'reject', token, '--message', 'Not on a Sunday.'])).code).toBe(0)
  const { code, out } = await run
  expect([code, out.includes('Not on a Sunday.'), out.includes('"outcome_code":"escalated"')]).toEqual([1, true, true])
})

it('reports an expired approval to the model as denied, and refuses unknown approval tokens', async () => {
  const place = await scene([step, { content: 'done' }, { content: 'nobody there' }], { timeout_secs: 1 })
  const late = await vtcode(place, ['exec', '--mode', 'ask', '--json', 'go'])
  expect([late.code, late.out.includes('No answer within 1 s.'), late.out.includes('The user says')]).toEqual([
    1,
    true,
    false,
  ])
  // A missing answer counts as a no, and not as words of a person.
  const events = late.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; decision?: string; outcome?: string })
  expect(events.filter(({ type }) => type === 'permission.resolved').map(({ decision }) => decision)).toEqual(['deny'])
  expect(late.out).toContain('"outcome":"permission_rejected"')
  for (const name of ['x', '../../x', 'f'.repeat(32)])
    expect(await vtcode(place, ['approvals', 'approve', name])).toMatchObject({
      code: 1,
      err: expect.stringContaining('No pending approval'),
    })
  writeFileSync(join(place.root, '.vtcode/approvals', `${'a'.repeat(32)}.json`), '{"token":')
  expect(await waiting(place)).toEqual([])
})
