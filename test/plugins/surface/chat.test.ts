import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { framesOf } from '../../support/frames.js'
import { call, home, startPeer, vtcode } from '../../support/peer.js'
import { serve } from '../../support/server.js'
import { bin, typing } from '../../support/terminal.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

const slow = { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }
/** A person at a terminal, with a model that answers by the script. */
async function atTerminal(
  script: Parameters<typeof startPeer>[0],
  words = ['chat', '--plain'],
  how?: Parameters<typeof typing>[2],
) {
  const peer = await startPeer(script)
  held.push(peer)
  return { peer, ...(await atServer(peer, words, how)) }
}
async function atServer(server: { url: string }, words = ['chat', '--plain'], how?: Parameters<typeof typing>[2]) {
  const place = await home(server)
  held.push(place)
  return { place, ...(await typing(place, words, how)) }
}
/** A second press of Ctrl-C within this time ends the program. */
const SECOND_PRESS_MS = 1100
/** Stops the running turn with Ctrl-C and sends a quick message; returns when Ctrl-C was pressed. */
async function stopAndGoOn({
  terminal,
  until,
}: Pick<Awaited<ReturnType<typeof typing>>, 'terminal' | 'until'>): Promise<number> {
  const pressed = performance.now()
  terminal.write('\x03')
  await until('cancelled')
  await until('> ')
  terminal.write('again\r')
  await until('quick')
  await until('> ')
  return pressed
}
const write = (path: string) => ({ toolCalls: [call('unified_file', { action: 'write', path, content: 'x' })] })
const said = (peer: { bodies: any[] }) => peer.bodies.map(({ messages }) => messages.at(-1).content)

it('answers line by line in one session of vtcode chat that can be resumed', async () => {
  const peer = await startPeer([{ content: 'first' }, { content: 'second' }, { content: 'third' }])
  const place = await home(peer)
  held.push(peer, place)
  const { code, out, err } = await vtcode(place, ['chat', '--quiet'], {
    input: 'hello\n\n/mode\n/nonsense\nand more\n/quit\nnever\n',
  })
  expect([code, out]).toEqual([0, 'first\nsecond\n'])
  expect(err).toMatch(
    /^ask\nvtcode: error: Unknown command \/nonsense; \/help lists all\. Nothing was sent to the model\.\n/,
  )
  expect(peer.bodies[1].messages.slice(1).map(({ content }: any) => content)).toEqual(['hello', 'first', 'and more'])
  expect((await vtcode(place, ['chat', '--resume', 'last'], { input: 'still there?\n' })).out).toBe('third\n')
  expect(peer.bodies[2].messages.slice(1).map(({ content }: any) => content)).toEqual([
    'hello',
    'first',
    'and more',
    'second',
    'still there?',
  ])
})

it('stops the running turn at Ctrl-C and prompts again; a second one at an empty prompt ends the chat', async () => {
  const { peer, terminal, until, end } = await atTerminal([slow, { content: 'quick' }])
  await until('> ')
  terminal.write('tell me\r')
  await expect.poll(() => peer.asked.length).toBe(1)
  const pressed = await stopAndGoOn({ terminal, until })
  terminal.write('half a line')
  await until('half a line')
  await sleep(pressed + SECOND_PRESS_MS - performance.now())
  terminal.write('\x03')
  await until('> ')
  // Presses that follow each other at once are one.
  await sleep(300)
  terminal.write('\x03\x03')
  await until('Press Ctrl-C again to end the chat.')
  await sleep(300)
  terminal.write('\x03')
  expect((await end()).code).toBe(0)
})

it('sends a paste and the text typed after it as one message; Ctrl-C drops the paste', async () => {
  const { peer, terminal, until, end } = await atTerminal([{ content: 'quick' }])
  await until('> ')
  terminal.write('\x1b[200~dropped\rthis\r\x1b[201~')
  await until('this')
  await sleep(200)
  terminal.write('\x03')
  await sleep(300)
  terminal.write('\x1b[200~Error: x\r  at one\r  at two\r\x1b[201~')
  await until('at two')
  await sleep(200)
  expect(peer.bodies).toEqual([])
  terminal.write('what is it?\r')
  await until('quick')
  expect(said(peer)).toEqual(['Error: x\n  at one\n  at two\nwhat is it?'])
  await until('> ')
  terminal.write('/quit\r')
  const { code, rest } = await end()
  expect([code, rest.lastIndexOf('\x1b[?2004l') > rest.lastIndexOf('\x1b[?2004h')]).toEqual([0, true])
})

it('stops a compaction at Ctrl-C and continues the chat', async () => {
  const { peer, terminal, until, end } = await atTerminal([
    ...Array.from({ length: 5 }, (_, index) => ({ content: `${'word '.repeat(4000)}answer ${index}` })),
    slow,
    { content: 'quick' },
  ])
  for (let index = 0; index < 5; index++) {
    await until('> ')
    terminal.write(`question ${index}\r`)
    await until(`answer ${index}`)
  }
  await until('> ')
  terminal.write('/compact\r')
  await expect.poll(() => peer.asked.length).toBe(6)
  await stopAndGoOn({ terminal, until })
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
})

it('queues lines typed during an answer, one turn each; /steer goes first and Ctrl-C returns the queue', async () => {
  const { peer, terminal, until, end } = await atTerminal([
    slow,
    { content: 'steered' },
    { content: 'one' },
    { content: 'two' },
    slow,
    { content: 'both' },
  ])
  await until('> ')
  terminal.write('tell me\r')
  await expect.poll(() => peer.asked.length).toBe(1)
  for (const text of ['first', 'second']) {
    terminal.write(`${text}\r`)
    await until(`Queued for the end of the turn: ${text}`)
  }
  terminal.write('/nonsense\r')
  await until('Unknown command /nonsense')
  terminal.write('/steer no, this\r')
  for (const text of ['next message: no, this', '> no, this', 'steered', '> first', 'one', '> second', 'two', '> '])
    await until(text)
  terminal.write('more\r')
  await expect.poll(() => peer.asked.length).toBe(5)
  terminal.write('again\r')
  await until('Queued for the end of the turn: again')
  terminal.write('half\x03')
  await until('cancelled')
  await until('again half')
  terminal.write(' now\r')
  await until('both')
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
  expect(said(peer)).toEqual(['tell me', 'no, this', 'first', 'second', 'more', 'again half now'])
})

it('gives a line to the open question, restores text typed before, and accepts instructions with a no', async () => {
  const { peer, place, terminal, until, end } = await atTerminal([
    write('a.txt'),
    { content: 'written' },
    write('b.txt'),
    { content: 'another way' },
    { content: 'not b.txt' },
  ])
  await until('> ')
  terminal.write('write\rnext half')
  await until('[y/N/session/always] ')
  terminal.write('y\r')
  await until('written')
  await until('next half')
  terminal.write(' and the rest\r')
  await until('[y/N/session/always] ')
  terminal.write('call it c.txt\r')
  await until('Not applied: unified_file b.txt (VT_POLICY_NEEDS_APPROVAL)')
  await until('> ')
  terminal.write('\x04')
  expect((await end()).code).toBe(0)
  expect([await place.read('a.txt'), await place.read('b.txt')]).toEqual(['x', undefined])
  expect(said(peer)[2]).toBe('next half and the rest')
  expect(said(peer)[3]).toContain('The user says: call it c.txt')
})

it('ends at once on a second Ctrl-C within a second and restores the terminal', async () => {
  const { peer, terminal, until, end } = await atTerminal(
    [slow],
    ['-c', `stty -g; "${process.execPath}" "${bin}" chat --plain; echo left $?; stty -g`],
    { program: '/bin/sh' },
  )
  const before = (await until('\n')).trim()
  await until('> ')
  terminal.write('tell me\r')
  await expect.poll(() => peer.asked.length).toBe(1)
  // On a busy machine two of them may be read at once, which are one.
  const pressing = setInterval(() => terminal.write('\x03'), 400)
  await until('left 130').finally(() => clearInterval(pressing))
  expect((await until(before)).trim()).toBe(before)
  await end()
})

it('returns the terminal to the shell at Ctrl-Z and restores the typed line with fg', async () => {
  const { peer, terminal, until, end } = await atTerminal([{ content: 'as before' }], ['--norc', '-i'], {
    program: '/bin/bash',
  })
  terminal.write(`stty -a | tr ' ' _; '${process.execPath}' '${bin}' chat --plain\r`)
  await until('_icanon_')
  await until('> ')
  terminal.write('half')
  await until('half')
  terminal.write('\x1a')
  await until('Stopped')
  await sleep(200)
  terminal.write("stty -a | tr ' ' _\r")
  await until('_icanon_')
  terminal.write('fg\r')
  await until('> ')
  await sleep(200)
  terminal.write(' a line\r')
  await until('as before')
  await until('> ')
  terminal.write('/quit\r')
  await until('$ ')
  terminal.write('exit $?\r')
  expect((await end()).code).toBe(0)
  expect(said(peer)).toEqual(['half a line'])
})

/** A model whose answers come in parts, the first one at once, each other one by `next()`. */
async function inParts(...answers: string[][]) {
  let released = 0
  let check = () => {}
  const server = await serve(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const parts = answers.shift()!
    for (const [index, part] of parts.entries()) {
      if (index > 0)
        await new Promise<void>((resolve) => (check = () => void (released > 0 && (released--, resolve())))())
      response.write(framesOf('openai-chat', { text: part.match(/\S+ ?/g)! }).body)
    }
    response.end(framesOf('openai-chat', { text: '' }).end)
  })
  held.push(server)
  return {
    url: server.url,
    bodies: () => server.seen.map(({ body }) => JSON.parse(body)),
    next: () => (released++, check()),
  }
}
const words = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `w${String(from + index).padStart(3, '0')} `).join('')
const counted = (shown: string, word: string) => shown.split(word).length - 1

it('streams words once each, gives typed text its own line, and keeps partial text, marked, at Ctrl-C', async () => {
  const model = await inParts([words(0, 3), words(3, 40), words(40, 60)], [words(0, 4), 'never'], ['quick'])
  const { terminal, until, end } = await atServer(model)
  await until('> ')
  terminal.write('tell me\r')
  // The rest is still to come.
  let shown = await until('w002')
  terminal.write('and th')
  shown += await until('and th')
  model.next()
  // A line that is being typed is below whole lines.
  shown += await until('w012')
  terminal.write('en\r')
  shown += await until('Queued for the end of the turn: and then')
  model.next()
  for (const text of ['w059', '> and then', 'w003']) shown += await until(text)
  for (let index = 0; index < 60; index++)
    expect([index, counted(shown, `w${String(index).padStart(3, '0')} `)]).toEqual([index, index < 3 ? 2 : 1])
  terminal.write('\x03')
  const rest = await until('cancelled')
  expect(rest).toContain('… (stopped)')
  expect(counted(rest, 'w003')).toBe(0)
  await until('> ')
  terminal.write('again\r')
  await until('quick')
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
  expect(
    model
      .bodies()[2]
      .messages.slice(-3)
      .map(({ content }: any) => content),
  ).toEqual([expect.stringMatching(/^w000 [w\d ]*w003/), 'The user stopped your answer here.', 'again'])
})

it('keeps a broken-off answer on the terminal, marked, and prints the whole one below it', async () => {
  const { terminal, until, end } = await atTerminal([
    { content: 'half of a long answer '.repeat(20), how: { latency: 50, chunkSize: 20, truncateAfterChunks: 4 } },
    { content: 'whole' },
  ])
  await until('> ')
  terminal.write('go\r')
  expect(await until('whole')).toMatch(/half of a long answer [^…]*… \(broken off\)[\s\S]*whole$/)
  await until('> ')
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
})

it('prints words of vtcode ask as they arrive at a terminal, each once', async () => {
  const model = await inParts([words(0, 3), words(3, 20)])
  const { until, end } = await atServer(model, ['ask', 'what?'])
  await until('w002')
  model.next()
  const { code, rest } = await end()
  expect([code, counted(rest, 'w019'), counted(rest, 'w000')]).toEqual([0, 1, 0])
})

it('asks for a plan with /plan before any change, and lists the resulting steps with /tasks', async () => {
  const plan = {
    title: 'Greet',
    summary: 'A greeting.',
    steps: [{ action: 'Write greet.mjs' }],
    tests: 'none',
    assumptions: [],
  }
  const { until, terminal, end, place } = await atTerminal([
    { toolCalls: [call('propose_plan', plan)] },
    { content: 'I begin.' },
  ])
  await until('> ')
  terminal.write('/tasks\r')
  await until('There are no steps.')
  terminal.write('/plan write a greeting\r')
  await until('What about the plan in .vtcode/plans/greet.md?')
  await until('Something else')
  // Nothing is selected at first.
  terminal.write('\x1b[B\x1b[B\r')
  await until('I begin.')
  terminal.write('/tasks\r')
  await until('1 [ ] Write greet.mjs')
  terminal.write('/mode\r')
  await until('auto')
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
  expect(existsSync(join(place.root, '.vtcode/plans/greet.md'))).toBe(true)
})

it('starts /loop and /remind turns when idle, confirms the schedule, and keeps typed text', async () => {
  const { peer, terminal, until, end } = await atTerminal([{ content: 'Here is your tea.' }, { content: 'quick' }])
  await until('> ')
  terminal.write('/loop 7m look at the build\r')
  await until('Every 6m, first at ')
  terminal.write('/remind +1s tea\r')
  await until('Once at ')
  terminal.write('half')
  await until('Here is your tea.')
  await until('> ')
  terminal.write(' said\r')
  await until('quick')
  await until('> ')
  terminal.write('/loop list\r')
  await until('every 6m')
  terminal.write('/loop cancel all\r')
  await until('1 cancelled.')
  terminal.write('/loop soon\r')
  await until('Every 10m')
  terminal.write('/quit\r')
  expect((await end()).code).toBe(0)
  expect(said(peer)).toEqual(['Remind me: tea', 'half said'])
})
