import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { waitForDrain } from '../../../../build/plugins/lib/base/index.js'

it('removes its listeners after each wait for a stream and stops waiting when the stream closes', async () => {
  const stream = new PassThrough({ highWaterMark: 4 })
  const listeners = () => ['drain', 'close'].map((event) => stream.listenerCount(event))
  const before = listeners()
  for (let at = 0; at < 20; at++) {
    expect(stream.write('more than fits')).toBe(false)
    const room = waitForDrain(stream)
    expect(listeners()).not.toEqual(before)
    stream.read()
    await room
    expect(listeners()).toEqual(before)
  }
  stream.write('nobody reads this')
  const over = waitForDrain(stream)
  stream.destroy()
  await over
  expect(listeners()).toEqual(before)
})
