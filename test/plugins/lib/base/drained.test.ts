import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { drained } from '../../../../build/plugins/lib/base/index.js'

it('a stream that is waited for again and again keeps no listener of those who waited, and one that is closed is waited for no more', async () => {
  const stream = new PassThrough({ highWaterMark: 4 })
  const listeners = () => ['drain', 'close'].map((event) => stream.listenerCount(event))
  const before = listeners()
  for (let at = 0; at < 20; at++) {
    expect(stream.write('more than fits')).toBe(false)
    const room = drained(stream)
    expect(listeners()).not.toEqual(before)
    stream.read()
    await room
    expect(listeners()).toEqual(before)
  }
  stream.write('nobody reads this')
  const over = drained(stream)
  stream.destroy()
  await over
  expect(listeners()).toEqual(before)
})
