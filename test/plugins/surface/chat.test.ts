/// <reference types="node-pty" />
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { home, startPeer, vtcode, type Home } from '../../agent/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** A chat at a terminal. */
async function typing(place: Home) {
  // Its types declare the name that stands behind this one.
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const bin = fileURLToPath(new URL('../../../dist/core/bin.js', import.meta.url))
  const terminal = spawn(process.execPath, [bin, 'chat'], { cwd: place.root, env: place.env, cols: 80, rows: 24 })
  let shown = ''
  terminal.onData((data) => (shown += data))
  const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)))
  /** Waits until this is shown, and forgets what was shown before its end. */
  const until = async (text: string) => {
    await expect.poll(() => shown.includes(text), { timeout: 30_000 }).toBe(true)
    shown = shown.slice(shown.indexOf(text) + text.length)
  }
  return { terminal, until, ended }
}

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

it('Ctrl-C stops what is under way and the prompt comes back; at an empty prompt the second one ends the chat', async () => {
  const peer = await startPeer([{ content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }, { content: 'quick' }])
  const place = await home(peer)
  held.push(peer, place)
  const { terminal, until, ended } = await typing(place)
  await until('> ')
  terminal.write('tell me\r')
  await expect.poll(() => peer.asked.length, { timeout: 30_000 }).toBe(1)
  await sleep(300)
  terminal.write('\x03')
  await until('cancelled')
  await until('> ')
  await sleep(1100)
  terminal.write('again\r')
  await until('quick')
  await until('> ')
  terminal.write('half a line\x03')
  await until('> ')
  terminal.write('\x03')
  await until('Ctrl-C once more ends the chat.')
  terminal.write('\x03')
  expect(await ended).toBe(0)
}, 120_000)

it('Ctrl-C stops a shortening too, and the chat goes on', async () => {
  const peer = await startPeer([...Array.from({ length: 5 }, (_, index) => ({ content: `${'word '.repeat(4000)}answer ${index}` })), { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }, { content: 'quick' }])
  const place = await home(peer)
  held.push(peer, place)
  const { terminal, until, ended } = await typing(place)
  for (let index = 0; index < 5; index++) {
    await until('> ')
    terminal.write(`question ${index}\r`)
    await until(`answer ${index}`)
  }
  await until('> ')
  terminal.write('/compact\r')
  await expect.poll(() => peer.asked.length, { timeout: 30_000 }).toBe(6)
  await sleep(300)
  terminal.write('\x03')
  await until('cancelled')
  await until('> ')
  await sleep(1100)
  terminal.write('again\r')
  await until('quick')
  await until('> ')
  terminal.write('/quit\r')
  expect(await ended).toBe(0)
}, 120_000)
