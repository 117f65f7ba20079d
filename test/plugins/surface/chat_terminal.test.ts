import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { chat } from '../../support/chat.js'
import { hold } from '../../support/inside.js'
import { call, home, logOf, startPeer, type Home } from '../../support/peer.js'
import { drawn, faultsOf } from '../../support/screen.js'
import { bin } from '../../support/terminal.js'

/** The chat, ready for what a person types. */
async function readyChat(...how: Parameters<typeof chat>) {
  const at = await chat(...how)
  await at.until(ready)
  return at
}
const ready = /^peer\/m · \w+/m
const count = (text: string, part: string): number => text.split(part).length - 1
const squeezed = (text: string): string => text.replace(/\s+/g, '')
/** Whole numbers between two, the same ones for a seed. */
const seeded =
  (seed: number) =>
  (from: number, to: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return from + Math.floor((seed / 2 ** 32) * (to - from + 1))
  }
const messages = Array.from({ length: 150 }, (_, at) => `message-${at}. ${at % 30 === 29 ? '\n\n' : ''}`).join('')
const streamed = { content: messages, how: { latency: 12, chunkSize: 10 } }
const messagesIn = (text: string): number[] =>
  [...squeezed(text).matchAll(/message-(\d+)\./g)].map(([, number]) => Number(number))
const slow = { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }
const resting = (raw: string) =>
  [
    ['?1004h', '?1004l'],
    ['?2004h', '?2004l'],
    ['?25l', '?25h'],
    ['?7l', '?7h'],
    ['?2026h', '?2026l'],
    ['?1002h', '?1002l'],
    ['?1049h', '?1049l'],
  ].filter(([on, off]) => raw.lastIndexOf(`\u001b[${on}`) > raw.lastIndexOf(`\u001b[${off}`))
/** The texts of the only session there is, as its journal has them. */
function saidIn(place: Home): string[] {
  const session = readdirSync(join(place.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))
  return logOf(place, session!).flatMap(({ type, item }) =>
    type === 'item.completed' && (item.type === 'agent_message' || item.type === 'user_message') ? [item.text] : [],
  )
}
const isGone = (pid: number): boolean => {
  try {
    return (process.kill(pid, 0), false)
  } catch {
    return true
  }
}

describe('the chat screen under signals and resizes', () => {
  it('loses and repeats no word through stops, continuations and resizes, and continues', async () => {
    const pick = seeded(7)
    const { type, until, end, kill, resize, text, raw, place } = await readyChat(
      [streamed, { content: 'and on.' }],
      ['chat'],
      { env: { TERM_PROGRAM: 'vscode' }, process: true },
    )
    type('go\r')
    await until('message-1.')
    while (!text().includes('message-149.')) {
      const what = pick(1, 4)
      if (what <= 2) resize(pick(60, 120), pick(12, 40))
      else {
        kill(what === 3 ? 'SIGTSTP' : 'SIGSTOP')
        await sleep(pick(0, 60))
        kill('SIGCONT')
      }
      await sleep(pick(5, 120))
    }
    for (const [columns, rows] of [
      [20, 5],
      [8, 3],
      [1, 1],
      [90, 24],
    ] as const) {
      resize(columns, rows)
      await sleep(60)
    }
    await until(ready)
    type('more\r')
    await until('and on.')
    type('\u0004')
    expect(await end()).toBe(0)
    expect(messagesIn(text())).toEqual(Array.from({ length: 150 }, (_, at) => at))
    expect(count(text(), 'and on.')).toBe(1)
    expect(faultsOf(raw())).toEqual([])
    expect(resting(raw())).toEqual([])
    expect(saidIn(place)).toEqual(
      ['go', messages.trimEnd(), 'more', 'and on.'].map((one) => expect.stringContaining(one)),
    )
  })

  it('ends when its terminal closes, with the conversation in the journal', async () => {
    const { type, until, close, pid, place } = await readyChat([slow], ['chat'], { process: true })
    type('tell me\r')
    await until('slow slow')
    close()
    await expect.poll(() => isGone(pid)).toBe(true)
    expect(saidIn(place).slice(0, 2)).toEqual(['tell me', expect.stringContaining('slow slow')])
  })

  it('leaves terminal modes to the shell when killed, and the next chat resets them', async () => {
    const peer = await startPeer([slow, { content: 'fine.' }])
    hold(peer)
    const place = await home(peer)
    hold(place)
    const at = await drawn(place, ['--norc', '--noprofile', '-i'], { program: '/bin/bash' })
    await at.until(/\$ $/m)
    for (const [round, words] of ['chat --surface alternate', 'chat'].entries()) {
      at.type(`'${process.execPath}' '${bin}' ${words} & echo pid-${round}-$!.; fg\r`)
      await expect.poll(() => count(at.raw(), 'peer/m, mode ask, session ')).toBe(round + 1)
      const pid = Number(new RegExp(`pid-${round}-(\\d+)\\.`).exec(at.raw())![1])
      at.type(round === 0 ? 'tell me\r' : 'again\r')
      await at.until(round === 0 ? 'slow slow' : 'fine.')
      if (round === 0) process.kill(pid, 'SIGKILL')
      else at.type('\u0004')
      await expect.poll(() => isGone(pid)).toBe(true)
    }
    at.type('echo typed-$((40 + 2))\r')
    await at.until('typed-42')
    at.type('exit\r')
    await at.end()
    expect([at.screen.buffer.active.type, count(at.text(), 'fine.')]).toEqual(['normal', 1])
    expect(resting(at.raw()).filter(([on]) => on !== '?2004h')).toEqual([])
  })
})

describe('the chat screen with hostile input', () => {
  it('shows file names, bytes of programs that are no text, and a paste of 10 MB', async () => {
    const evil = 'a\u001b]0;owned\u0007\u202eb.txt'
    const { type, until, answer, end, kill, text, raw, place } = await readyChat(
      [
        {
          toolCalls: [
            call('unified_exec', { action: 'run', command: "printf 'bytes \\377\\376 \\033]52;c;eA==\\007 end\\n'" }),
          ],
        },
        { content: 'seen.' },
      ],
      ['--mode', 'auto', 'chat'],
      { files: { [evil]: 'x' }, columns: 110, process: true },
    )
    type('see @owned')
    await until(/→ a\\u\{1b\}\]0;owned/)
    type('\u0003')
    await until(/^> \/ for commands/m)
    type('run\r')
    await until(/\? Run `|seen\./)
    if (!text().includes('seen.')) {
      await answer('y')
    }
    await until(/^seen\.$/m)
    expect(text()).toMatch(/bytes \ufffd\ufffd/)
    const long = 'x'.repeat(10_000_000)
    type(`\u001b[200~${long}\u001b[201~`)
    await until(/\[paste #1 10000000 chars\]/)
    type('\r')
    await expect.poll(() => saidIn(place).map(({ length }) => length)).toContain(long.length)
    kill('SIGTERM')
    expect(await end()).toBe(130)
    // eslint-disable-next-line no-control-regex
    expect(raw().replace(/\u001b\](?:0;vtcode|9;)[^\u0007]*\u0007/g, '')).not.toMatch(/\u001b\]|\u202e/)
  })
})
