import { afterEach, expect, it } from 'vitest'
import { call, home, startPeer, vtcode } from '../../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('vtcode ask answers, changes nothing, and prints the answer alone, as JSON or its code', async () => {
  const answer = 'Like this:\n```ts\nconst a = 1\n```\nThat is all.'
  const peer = await startPeer([{ toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'x' })] }, { content: 'I may not.' }, { content: answer }, { content: answer }, { content: 'no tools' }])
  const place = await home(peer)
  held.push(peer, place)
  expect(await vtcode(place, ['ask', 'write', 'a', 'file'])).toMatchObject({ out: 'I may not.\n', err: '' })
  expect(await place.read('a.txt')).toBeUndefined()
  expect(await vtcode(place, ['ask', '--code', 'how?'])).toEqual({ code: 0, out: 'const a = 1\n', err: '' })
  const { out } = await vtcode(place, ['ask', '--output-format', 'json', 'how?'])
  expect(JSON.parse(out)).toMatchObject({ response: answer, provider: 'peer', model: 'm', cost_usd: null, session_id: expect.stringMatching(/^ses_/) })
  await vtcode(place, ['ask', '--no-tools', 'x'])
  expect(peer.bodies.map(({ tools }) => tools !== undefined)).toEqual([true, true, true, true, false])
  expect((await vtcode(place, ['ask'])).code).toBe(2)
})
