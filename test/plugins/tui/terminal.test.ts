import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lacks } from '../../support/exec.js'
import { drawn, faultsOf, type Shape } from '../../support/screen.js'
import { bin } from '../../support/terminal.js'

const door = join(dirname(dirname(bin)), 'plugins/tui/index.js')
/** A program that uses only the screen of this project. */
const echo = `import { spawnSession } from ${JSON.stringify(door)}

const { handle, events } = spawnSession({ placeholder: 'Say something', appName: 'echo' })
handle.send({ type: 'status', left: 'echo', right: 'Ctrl-D ends' })
for await (const event of events) {
  if (event.type === 'exit') handle.send({ type: 'shutdown' })
  if (event.type !== 'submit') continue
  handle.send({ type: 'commit', block: { kind: 'user', text: event.text } })
  if (event.text === 'throw') throw new Error('as asked')
  if (event.text === 'later') setTimeout(() => { throw new Error('as asked') }, 10)
  if (event.text === 'exit') process.exit(7)
  if (event.text === 'stream') {
    handle.send({ type: 'activity', state: 'Answering' })
    handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
    let at = 0
    const timer = setInterval(() => {
      const behind = at % 60 === 59 ? '\\n\\n' : at % 10 === 9 ? '\\n' : at % 60 < 30 ? ' ' : ' with some words of its own, '
      handle.send({ type: 'live', id: 'a', append: \`message-\${at}.\${behind}\`, done: ++at === 240 })
      if (at === 240) (clearInterval(timer), handle.send({ type: 'activity' }), handle.send({ type: 'commit', block: { kind: 'text', text: 'All is said.' } }))
    }, 10)
  } else handle.send({ type: 'commit', block: { kind: 'markdown', text: \`You said *\${event.text}*.\` } })
}
console.log('bye')
`
let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'vtcode-tui-'))
  writeFileSync(join(root, 'echo.mjs'), echo)
})
// A shell that is just ending may still write its history there.
afterAll(() => rm(root, { recursive: true, maxRetries: 12 }))

const place = () => ({ root, env: { PATH: process.env['PATH']!, HOME: root } })
const atShell = (how: Shape = {}) => drawn(place(), ['--norc', '--noprofile', '-i'], { program: '/bin/bash', ...how })
const start = `${process.execPath} echo.mjs`
const count = (text: string, part: string): number => text.split(part).length - 1
/** Returns the numbers of the visible messages from the top. */
const messagesIn = (text: string): number[] =>
  [...squeezed(text).matchAll(/message-(\d+)\./g)].map(([, number]) => Number(number))
/** Returns a generator of whole numbers in a range, equal for equal seeds. */
const seeded =
  (seed: number) =>
  (from: number, to: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return from + Math.floor((seed / 2 ** 32) * (to - from + 1))
  }
const squeezed = (text: string): string => text.replace(/\s+/g, '')

/** Starts a shell with thirty lines of history and records its terminal settings. */
async function historical(how: Shape = {}) {
  const at = await atShell(how)
  await at.until(/\$ $/m)
  at.type('for n in $(seq 1 30); do echo "earlier-$n."; done; stty -g | cksum\r')
  await at.until(/earlier-30\.\n\d+ \d+\n\$/)
  return { at, before: /\n(\d+ \d+)\n\$/.exec(at.text())![1]! }
}
type Shell = Awaited<ReturnType<typeof atShell>>
/** Checks that the shell is back, the terminal is unchanged and every line is on the screen once. */
async function restored(at: Shell, before: string) {
  at.type('echo back-$?; stty -g | cksum\r')
  await at.until(/back-\d+\n/)
  await expect.poll(() => count(at.text(), before)).toBe(2)
  for (let line = 1; line <= 30; line++) expect(count(squeezed(at.text()), `earlier-${line}.`), `${line}`).toBe(1)
  const raw = at.raw()
  expect(faultsOf(raw)).toEqual([])
  // The shell accepts bracketed pastes itself.
  for (const [on, off] of [
    ['\u001b[?1004h', '\u001b[?1004l'],
    ['\u001b[?25l', '\u001b[?25h'],
    ['\u001b[?2026h', '\u001b[?2026l'],
  ] as const)
    expect(raw.lastIndexOf(off), off).toBeGreaterThanOrEqual(raw.lastIndexOf(on))
  at.type('exit\r')
  await at.end()
}

describe('program on the first screen', () => {
  it('runs in a terminal, keeps the history of the shell, and ends cleanly', async () => {
    const { at, before } = await historical()
    at.type(`${start}\r`)
    await at.until('Say something')
    at.type('hello wörld 漢字 👍\r')
    await at.until('You said hello wörld 漢字 👍.')
    at.type('\u0004')
    await at.until('bye')
    expect(at.text()).not.toContain('Ctrl-D ends')
    await restored(at, before)
  })

  it.each([
    ['by an error', 'throw\r', undefined],
    ['by an error in a timer', 'later\r', undefined],
    ['by itself', 'exit\r', undefined],
    ['by SIGTERM', undefined, 'TERM'],
    ['by SIGINT', undefined, 'INT'],
    ['by SIGHUP', undefined, 'HUP'],
  ])('restores the terminal when the program ends %s', async (_way, typed, signal) => {
    const { at, before } = await historical()
    at.type(`${start} & echo pid-$!.; fg\r`)
    await at.until('Say something')
    if (typed !== undefined) at.type(typed)
    else process.kill(Number(/pid-(\d+)\./.exec(at.text())![1]), `SIG${signal}`)
    await expect.poll(() => at.text().endsWith('$ ') || at.text().endsWith('$')).toBe(true)
    await restored(at, before)
  })

  it('gives the terminal back while the program is stopped and redraws afterwards', async () => {
    const { at, before } = await historical()
    at.type(`${start}\r`)
    await at.until('Say something')
    at.type('half a line')
    await at.until('> half a line')
    for (let round = 1; round <= 3; round++) {
      at.type('\u001a')
      await expect.poll(() => count(at.text(), 'Stopped')).toBe(round)
      at.type(`echo shell-${round}.\r`)
      await at.until(new RegExp(`^shell-${round}\\.`, 'm'))
      at.type('fg\r')
      await expect.poll(() => /> half a line\n+echo · Ctrl-D ends$/.test(at.text())).toBe(true)
    }
    at.type(' more\r')
    await at.until('You said half a line more.')
    at.type('\u0004')
    await at.until('bye')
    await restored(at, before)
  })

  // The terminal gets its size first, so output for the previous size is drawn in the new one.
  it.each([1, 2])(
    'keeps each message in the scrollback once, in order, for any terminal sizes (seed %i)',
    async (seed) => {
      const pick = seeded(seed)
      const { at, before } = await historical({ env: { TERM_PROGRAM: 'vscode' } })
      at.type(`${start}\r`)
      await at.until('Say something')
      at.type('stream\r')
      while (!at.text().includes('All is said.')) {
        await sleep(pick(5, 150))
        at.resize(pick(45, 130), pick(10, 45))
      }
      at.type('\u0004')
      await at.until('bye')
      expect(messagesIn(at.text())).toEqual(Array.from({ length: 240 }, (_, of) => of))
      await restored(at, before)
    },
  )

  it('starts in a terminal that answers no query', async () => {
    const at = await drawn(place(), [join(root, 'echo.mjs')], { answers: false })
    await at.until('Say something')
    at.type('hello\r')
    await at.until('You said hello.')
    at.type('\u0004')
    expect(await at.end()).toBe(0)
  })

  it('distinguishes a late answer to its query from typed text', async () => {
    const at = await drawn(place(), [join(root, 'echo.mjs')], { answers: false })
    await at.until('Say something')
    at.type('he')
    await sleep(600)
    at.type('\u001b[?0u')
    await sleep(100)
    at.type('llo\u001b[13u')
    await at.until('You said hello.')
    at.type('\u001b[100;5u')
    expect(await at.end()).toBe(0)
    expect(at.raw()).toContain('\u001b[<u')
  })
})

describe.skipIf(lacks('tmux'))('tmux', () => {
  it('keeps the shell history and every message under tmux, also when its window changes', async () => {
    const { spawnSync } = await import('node:child_process')
    const tmux = (...args: string[]) =>
      spawnSync('tmux', ['-L', `vtcode${process.pid}`, '-f', '/dev/null', ...args], {
        encoding: 'utf8',
        env: { ...place().env, TERM: 'xterm-256color', LANG: 'C.UTF-8' },
        cwd: root,
      })
    try {
      tmux('new-session', '-d', '-x', '80', '-y', '24', 'bash --norc --noprofile')
      const text = (): string => tmux('capture-pane', '-p', '-S', '-', '-J').stdout
      const type = (...keys: string[]) => tmux('send-keys', ...keys)
      const until = (wanted: string | RegExp) => expect.poll(text, { message: String(wanted) }).toMatch(wanted)
      type('for n in $(seq 1 30); do echo "earlier-$n."; done', 'Enter')
      await until('earlier-30.')
      type(start, 'Enter')
      await until('Say something')
      type('stream', 'Enter')
      const pick = seeded(3)
      while (!text().includes('All is said.')) {
        await sleep(pick(50, 350))
        tmux('resize-window', '-x', String(pick(45, 130)), '-y', String(pick(10, 45)))
      }
      type('C-d')
      await until('bye')
      const all = squeezed(text())
      for (let line = 1; line <= 30; line++) expect(count(all, `earlier-${line}.`), `${line}`).toBe(1)
      expect(messagesIn(text())).toEqual(Array.from({ length: 240 }, (_, of) => of))
    } finally {
      tmux('kill-server')
    }
  })
})
