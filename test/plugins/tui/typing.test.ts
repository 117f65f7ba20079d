import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { spawnSession, type UiEvent } from '../../../build/plugins/tui/index.js'
import { rounds } from '../../support/exec.js'
import { lateTerminal } from '../../support/late_terminal.js'
import { fc } from '../../support/property.js'

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'setImmediate',
        'clearImmediate',
        'performance',
        'Date',
      ],
    }),
)
afterEach(() => void vi.useRealTimers())

/** A key and the pause after it, as people type. */
const key = fc.record({
  key: fc.constantFrom('y', 'n', 'w', 'a', 's', 'Y', 'N', ' ', 'e', '1', '\r', '?', '.'),
  pause: fc.integer({ min: 20, max: 650 }),
})
/** A paste. */
const paste = fc.record({
  key: fc.constantFrom('\u001b[200~y\r\u001b[201~', '\u001b[200~always\ryes\r\u001b[201~'),
  pause: fc.integer({ min: 20, max: 650 }),
})
/** An event of a mouse, which is no key: the pause between the keys around it stays below that of a single answer. */
const mouse = fc.record({ key: fc.constantFrom('\u001b[<0;3;4M', '\u001b[<0;3;4m'), pause: fc.constant(0) })
const typing = fc
  .array(fc.oneof({ weight: 8, arbitrary: key }, { weight: 1, arbitrary: paste }, { weight: 1, arbitrary: mouse }), {
    minLength: 1,
    maxLength: 11,
  })
  .chain((keys) => key.map((last) => [...keys, last]))
  // A letter of an answer with Enter is an answer.
  .filter((keys) => !/[ynw]\r/i.test(keys.map((one) => one.key.replace(/^\u001b\[<.*/, '')).join('')))

it('takes no answer from random typing at human speed, whenever the question opens', () => {
  const at = lateTerminal({ columns: 80, rows: 24 })
  const events: UiEvent[] = []
  const { handle } = spawnSession({
    stdin: at.stdin,
    output: at.output,
    env: {},
    theme: 'none',
    onEvent: (event) => void events.push(event),
  })
  let count = 0
  const ask = (): void =>
    handle.send({
      type: 'overlay',
      overlay: {
        kind: 'confirm',
        id: `q${++count}`,
        title: 'Run `rm -r build`?',
        body: [{ kind: 'text', text: '$ rm -r build' }],
        answers: [
          { key: 'y', value: 'yes', label: 'yes' },
          { value: 'session', label: 'yes, this session' },
          { key: 'n', value: 'no', label: 'no' },
          { key: 'w', value: 'why', label: 'no, do this instead' },
        ],
        texts: [{ value: 'why', label: 'Do instead' }],
      },
    })
  fc.assert(
    fc.property(typing, fc.nat({ max: 11 }), fc.integer({ min: 0, max: 2000 }), (keys, open, wait) => {
      events.length = 0
      handle.send({ type: 'input', text: '' })
      keys.forEach(({ key: data, pause }, index) => {
        if (index === Math.min(open, keys.length - 2)) {
          ask()
          vi.advanceTimersByTime(index === 0 ? wait : 0)
        }
        at.stdin.emit('data', Buffer.from(data))
        vi.advanceTimersByTime(index === keys.length - 1 ? 0 : pause)
      })
      const answered = events.filter(({ type }) => type === 'overlay_result')
      handle.send({ type: 'close_overlay', id: `q${count}` })
      vi.advanceTimersByTime(1000)
      expect(answered).toEqual([])
    }),
    { numRuns: rounds(300, 10_000) },
  )
  handle.send({ type: 'shutdown' })
})
