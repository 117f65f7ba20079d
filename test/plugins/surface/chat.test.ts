import { afterEach, expect, it } from 'vitest'
import { home, startPeer, vtcode } from '../../agent/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('vtcode chat answers line by line in one session, which can be gone on with', async () => {
  const peer = await startPeer([{ content: 'first' }, { content: 'second' }, { content: 'third' }])
  const place = await home(peer)
  held.push(peer, place)
  const { code, out, err } = await vtcode(place, ['chat', '--plain'], { input: 'hello\n\n/mode\n/nonsense\nand more\n/quit\nnever\n' })
  expect([code, out]).toEqual([0, 'first\nsecond\n'])
  expect(err).toMatch(/^ask\nvtcode: error: There is no command \/nonsense/)
  expect(peer.bodies[1].messages.slice(1).map(({ content }: any) => content)).toEqual(['hello', 'first', 'and more'])
  expect((await vtcode(place, ['chat', '--resume', 'last'], { input: 'still there?\n' })).out).toBe('third\n')
  expect(peer.bodies[2].messages.slice(1).map(({ content }: any) => content)).toEqual(['hello', 'first', 'and more', 'second', 'still there?'])
})
