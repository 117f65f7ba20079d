import { afterEach, expect, it } from 'vitest'
import { home, startPeer, vtcode } from '../../agent/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('vtcode sessions lists, shows, names, mends and deletes', async () => {
  const peer = await startPeer([{ content: 'a' }, { content: 'b' }])
  const place = await home(peer)
  held.push(peer, place)
  expect((await vtcode(place, ['sessions'])).out).toBe('There are no sessions.\n')
  await vtcode(place, ['exec', 'the first task'])
  await vtcode(place, ['exec', 'the second task'])
  const [second, first] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
  expect([second.first_prompt, first.first_prompt, first.status, first.turn_count]).toEqual(['the second task', 'the first task', 'idle', 1])
  expect((await vtcode(place, ['sessions', 'rename', first.session_id, 'my', 'title'])).code).toBe(0)
  expect(JSON.parse((await vtcode(place, ['sessions', 'show', first.session_id])).out)).toMatchObject({ title: 'my title', model: 'peer/m' })
  expect((await vtcode(place, ['sessions', 'repair', first.session_id])).out).toBe('The journal is whole.\n')
  expect((await vtcode(place, ['sessions', 'delete', second.session_id])).code).toBe(0)
  expect((await vtcode(place, ['sessions'])).out).toMatch(/^ses_\w+ {2}\S+ {2}1 turns {2}my title\n$/)
  for (const id of ['../../x', 'ses_none']) expect(await vtcode(place, ['sessions', 'delete', id])).toMatchObject({ code: 1, err: expect.stringContaining('VT_SESSION_NOT_FOUND') })
})
