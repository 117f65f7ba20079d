import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { spawnSession } from '../../../build/plugins/tui/index.js'
import { lateTerminal } from '../../support/late_terminal.js'

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    }),
)
afterEach(() => void vi.useRealTimers())

/** Returns a generator of whole numbers in a range, equal for equal seeds. */
const seeded =
  (seed: number) =>
  (from: number, to: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return from + Math.floor((seed / 2 ** 32) * (to - from + 1))
  }
const numbers = (text: string, word: string): number[] =>
  [...text.replace(/\s+/g, '').matchAll(new RegExp(`${word}-(\\d+)\\.`, 'g'))].map(([, number]) => Number(number))
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const messages = 60

interface Storm {
  seed: number
  types?: boolean
  /** The program learns of a new size before or after the window changes. */
  knows: 'first' | 'last'
  /** A frame may be half drawn when the size changes. */
  halves?: boolean
}

/** Resizes a window repeatedly while text streams and returns the final screen. */
function storm({ seed, types = false, knows, halves = false }: Storm): string {
  const pick = seeded(seed)
  const at = lateTerminal({ columns: 80, rows: 24 })
  at.screen.write(
    upTo(30)
      .map((line) => `earlier-${line}. of the shell\r\n`)
      .join(''),
  )
  const { handle } = spawnSession({
    stdin: at.stdin,
    output: at.output,
    env: { TERM_PROGRAM: 'vscode' },
    theme: 'dark',
    placeholder: 'Say something',
  })
  handle.send({
    type: 'status',
    left: 'a line of the status',
    right: 'that is as wide as a status of the chat may be, or wider than many a window',
  })
  vi.advanceTimersByTime(50)
  at.drawFrames(99)
  handle.send({
    type: 'activity',
    state: 'Answering',
    detail: 'a detail that is wider than a narrow window, and so is folded by it',
  })
  handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
  const later: { in: number; run: () => void }[] = []
  let said = 0
  while (said < messages || later.length > 0) {
    const what = pick(0, 9)
    if (said < messages && what < 5) {
      const behind =
        said % 30 === 29 ? '\n\n' : said % 10 === 9 ? '\n' : said % 20 < 10 ? ' ' : ' with some words of its own, '
      handle.send({ type: 'live', id: 'a', append: `message-${said}.${behind}`, done: ++said === messages })
    } else if (what < 6 && said < messages) {
      const [columns, rows] = [pick(45, 130), pick(10, 45)]
      const changes = [() => at.resizeWindow(columns, rows), () => at.know(columns, rows)]
      if (knows === 'first') changes.reverse()
      if (later.length === 0) changes.shift()!()
      later.push(...changes.map((run) => ({ in: pick(0, 3), run })), { in: pick(0, 2), run: at.tell })
    } else if (types && what < 7) at.type('x')
    vi.advanceTimersByTime(pick(1, 40))
    // Apply the changes in their order.
    while (later[0] && later[0].in-- <= 0) later.shift()!.run()
    if (halves && pick(0, 2) === 0) at.drawPart(pick(1, 200))
    else at.drawFrames(pick(0, 3))
  }
  handle.send({ type: 'activity' })
  for (let times = 0; times < 3; times++) {
    vi.advanceTimersByTime(300)
    at.drawFrames(999)
  }
  const text = at.text()
  handle.send({ type: 'shutdown' })
  vi.advanceTimersByTime(100)
  return text
}

describe('late frames in a resizing terminal', () => {
  it.each<Omit<Storm, 'seed'>>([
    { knows: 'first', types: false },
    { knows: 'last', types: false },
    { knows: 'first', types: true },
    { knows: 'last', types: true },
  ])('keeps each message and the shell history once, in order (program informed: $knows, typing: $types)', (how) => {
    for (let seed = 1; seed <= 5; seed++) {
      const text = storm({ seed, ...how })
      expect(
        [numbers(text, 'message'), numbers(text, 'earlier'), text.split('a line of the status').length],
        `seed ${seed}`,
      ).toEqual([upTo(messages), upTo(30), 2])
    }
  })

  // A program cannot prevent this: xterm.js cuts the cursor line, which may be half drawn.
  it('repeats no message and keeps order and shell history, also with half-drawn frames', () => {
    for (let seed = 1; seed <= 5; seed++) {
      const text = storm({ seed, knows: 'first', types: true, halves: true })
      const found = numbers(text, 'message')
      expect(found, `seed ${seed}`).toEqual([...new Set(found)].sort((a, b) => a - b))
      expect(
        [found.length > 0.9 * messages, numbers(text, 'earlier'), text.split('a line of the status').length],
        `seed ${seed}`,
      ).toEqual([true, upTo(30), 2])
    }
  })
})
