import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { call, home, startPeer, vtcode } from '../../support/peer.js'
import { sealedIn } from '../../support/seal.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('lists, shows, renames, repairs and deletes sessions', async () => {
  const peer = await startPeer([{ content: 'a' }, { content: 'b' }])
  const place = await home(peer)
  held.push(peer, place)
  expect((await vtcode(place, ['sessions', '--text'])).out).toBe('There are no sessions.\n')
  await vtcode(place, ['exec', 'the first task'])
  await vtcode(place, ['exec', 'the second task'])
  const [second, first] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
  expect([second.first_prompt, first.first_prompt, first.status, first.turn_count]).toEqual([
    'the second task',
    'the first task',
    'completed',
    1,
  ])
  expect((await vtcode(place, ['sessions', 'rename', first.session_id, 'my', 'title'])).code).toBe(0)
  expect(JSON.parse((await vtcode(place, ['sessions', 'show', first.session_id])).out)).toMatchObject({
    title: 'my title',
    model: 'peer/m',
  })
  expect((await vtcode(place, ['sessions', 'repair', first.session_id, '--text'])).out).toBe(
    'The journal is not damaged.\n',
  )
  expect((await vtcode(place, ['sessions', 'delete', second.session_id])).code).toBe(0)
  expect((await vtcode(place, ['sessions', '--text'])).out).toMatch(
    /^ses_\w+ {2}(?:just now|\d+ min ago) {2}completed {2}1 turn {2}my title\n$/,
  )
  for (const id of ['../../x', 'ses_none'])
    expect(await vtcode(place, ['sessions', 'delete', id])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_SESSION_NOT_FOUND'),
    })
})

it('shows which sessions are in use or were killed, and finds those of other workspaces', async () => {
  const slow = { content: 'slow '.repeat(500), how: { latency: 50, chunkSize: 5 } }
  const peer = await startPeer([slow, { content: 'ok' }, { content: 'there' }, { content: 'there' }])
  const place = await home(peer)
  held.push(peer, place)
  const list = async (...flags: string[]) =>
    JSON.parse((await vtcode(place, ['sessions', 'list', '--json', ...flags])).out)
  const checkActive = async () => {
    const [one] = await list()
    expect(one.status).toBe('active')
    expect(await vtcode(place, ['sessions', 'show', one.session_id])).toMatchObject({ code: 0 })
  }
  let checked: Promise<void> | undefined
  await vtcode(place, ['exec', '--json', 'go'], {
    started: (child) =>
      child.stdout!.on('data', (chunk: Buffer) => {
        // The model has been asked by then: the next run gets the next answer.
        if (checked === undefined && String(chunk).includes('"agent_message"'))
          checked = checkActive().finally(() => child.kill('SIGKILL'))
      }),
  })
  await checked
  const [{ session_id, status }] = await list()
  expect(status).toBe('interrupted')
  const elsewhere = Object.assign(await tempWorkspace(), { env: place.env })
  held.push(elsewhere)
  expect((await vtcode(elsewhere, ['sessions', '--text'])).out).toBe('There are no sessions.\n')
  expect((await vtcode(elsewhere, ['sessions', 'list', '--all', '--text'])).out).toContain(place.root)
  const refused = await vtcode(elsewhere, ['resume', session_id, 'on'])
  expect([
    refused.code,
    refused.err.includes(`It belongs to ${place.root}: vtcode resume --all ${session_id}`),
  ]).toEqual([1, true])
  expect((await vtcode(elsewhere, ['--workspace', place.root, 'resume', session_id, 'on'])).out).toBe('ok\n')
  for (const which of [session_id, '--last'])
    expect(await vtcode(elsewhere, ['resume', '--all', which, 'and on'])).toMatchObject({
      code: 0,
      out: 'there\n',
      err: expect.stringContaining(`belongs to ${place.root}`),
    })
  expect((await vtcode(elsewhere, ['resume', '--all', 'ses_nowhere', 'on'])).err).toContain('VT_SESSION_NOT_FOUND')
  expect((await vtcode(elsewhere, ['sessions', '--text'])).out).toBe('There are no sessions.\n')
  expect((await list())[0].status).toBe('completed')
})

it('deletes the oldest sessions over the limits with their files, but none that is named or in use', async () => {
  const peer = await startPeer(
    Array.from({ length: 5 }, () => ({
      toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'x', mode: 'overwrite' })],
    })).flatMap((step) => [step, { content: 'ok' }]),
  )
  const place = await home(peer, {}, { settings: { sessions: { max_count: 3 } } })
  held.push(peer, place)
  const ids = async (): Promise<string[]> =>
    JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out).map(({ session_id }: any) => session_id)
  await vtcode(place, ['exec', '--mode', 'auto', 'one'])
  const [named] = await ids()
  await vtcode(place, ['sessions', 'rename', named!, 'keep', 'me'])
  await vtcode(place, ['sessions', 'flag', named!, 'no-export'])
  for (const word of ['two', 'three']) await vtcode(place, ['exec', '--mode', 'auto', word])
  const [, second] = await ids()
  expect(existsSync(join(place.root, '.vtcode/history', second!))).toBe(true)
  // A run makes room for itself.
  await vtcode(place, ['exec', '--mode', 'auto', 'four'])
  const left = await ids()
  expect([left.length, left.includes(named!), left.includes(second!)]).toEqual([3, true, false])
  expect(existsSync(join(place.root, '.vtcode/history', second!))).toBe(false)
  expect(JSON.parse((await vtcode(place, ['sessions', 'show', named!])).out)).toMatchObject({
    title: 'keep me',
    no_export: true,
  })
  expect(
    (await vtcode(place, ['-c', 'sessions.max_count=1', 'sessions', 'gc', '--text'])).out.split('\n').filter(Boolean),
  ).toHaveLength(2)
  expect(await ids()).toEqual([named])
})

it('limits sessions by age and size too; 0 disables a limit, and a repository may only lower one', async () => {
  const peer = await startPeer(Array.from({ length: 4 }, () => ({ content: 'ok' })))
  const place = await home(peer)
  held.push(peer, place)
  const ids = async (): Promise<string[]> =>
    JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
      .map(({ session_id }: any) => session_id)
      .sort()
  const gc = async (...flags: string[]) =>
    (await vtcode(place, [...flags, 'sessions', 'gc', '--text'])).out.split('\n').filter(Boolean)
  const folder = (id: string) => join(place.root, '.vtcode/sessions', id)
  for (const word of ['a', 'b', 'c']) await vtcode(place, ['exec', '--session-id', `ses_${word}`, word])
  const aged = (id: string, days: number) => {
    const manifest = JSON.parse(readFileSync(join(folder(id), 'manifest.json'), 'utf8'))
    writeFileSync(
      join(folder(id), 'manifest.json'),
      JSON.stringify({ ...manifest, updated_at: new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString() }),
    )
  }
  aged('ses_a', 31)
  aged('ses_b', 29)
  expect(await gc('-c', 'sessions.max_age_days=0')).toEqual([])
  expect(await gc()).toEqual(['ses_a'])
  writeFileSync(join(folder('ses_c'), 'events.jsonl'), Buffer.alloc(2 * 1024 * 1024))
  writeFileSync(join(place.root, '.vtcode/config.yaml'), 'sessions: { max_age_days: 400, max_total_mb: 3 }\n')
  expect(await gc()).toEqual([])
  aged('ses_b', 31)
  expect(await gc('-c', 'sessions.max_age_days=0', '-c', 'sessions.max_total_mb=0')).toEqual([])
  aged('ses_b', 29)
  // A link in the place of a session is none.
  const away = join(place.home, 'away')
  mkdirSync(away)
  symlinkSync(away, folder('ses_link'))
  expect(await gc('-c', 'sessions.max_total_mb=1')).toEqual(['ses_b', 'ses_c'])
  expect([await ids(), existsSync(away)]).toEqual([[], true])
})

it('keeps a conversation when many single calls are recorded', async () => {
  const peer = await startPeer([{ toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'ok' }])
  const place = await home(peer)
  held.push(peer, place)
  await vtcode(place, ['exec', 'go'])
  const sealed = sealedIn(place)
  for (let index = 0; index < 60; index++) {
    const folder = join(place.root, '.vtcode/sessions', `old-${index}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'calls.jsonl'), sealed.call(`old-${index}`, { slot: 'a' }))
  }
  await vtcode(place, ['call', 'unified_search', 'list'])
  expect((await vtcode(place, ['sessions', '--text'])).out).toMatch(/^ses_/)
  expect(readdirSync(join(place.root, '.vtcode/sessions')).length).toBeLessThan(60)
})

it('lists readable sessions, whatever a repository has added to them', async () => {
  const peer = await startPeer([{ content: 'ok' }])
  const place = await home(peer)
  held.push(peer, place)
  await vtcode(place, ['exec', '--session-id', 'ses_good', 'go'])
  const odd = {
    ses_array: '[1]',
    ses_null: 'null',
    ses_bare: '{"session_id":"ses_bare"}',
    ses_title: '{"session_id":"ses_title","updated_at":"x","status":"idle","first_prompt":"p","title":{}}',
  }
  for (const [id, manifest] of Object.entries(odd)) {
    mkdirSync(join(place.root, '.vtcode/sessions', id))
    writeFileSync(join(place.root, '.vtcode/sessions', id, 'manifest.json'), manifest)
  }
  expect(await vtcode(place, ['sessions', '--text'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^ses_good .*\n$/),
  })
})

it('limits spool files by deleting those of the longest unused session, and keeps that session', async () => {
  const peer = await startPeer([{ content: 'a' }, { content: 'b' }])
  const place = await home(peer)
  held.push(peer, place)
  for (const id of ['ses_a', 'ses_b']) await vtcode(place, ['exec', '--session-id', id, 'go'])
  const spool = join(place.root, '.vtcode/spool')
  const sealed = sealedIn(place)
  mkdirSync(spool, { recursive: true })
  for (const id of ['ses_a', 'ses_b']) writeFileSync(join(spool, sealed.text(id, 0)), Buffer.alloc(700 * 1024))
  expect((await vtcode(place, ['sessions', 'gc', '--text'])).out).toBe('')
  expect(readdirSync(spool)).toHaveLength(2)
  expect((await vtcode(place, ['-c', 'context.dynamic.spool_max_mb=1', 'sessions', 'gc', '--text'])).out).toBe('')
  expect(readdirSync(spool)).toEqual([sealed.text('ses_b', 0)])
  expect(JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)).toHaveLength(2)
})
