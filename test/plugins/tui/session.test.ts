import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { spawnSession, detectTheme, type SessionOptions, type UiEvent } from '../../../build/plugins/tui/index.js'
import { rounds } from '../../support/exec.js'
import { memoryTerminal } from '../../support/memory_terminal.js'
import { faultsOf } from '../../support/screen.js'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** Starts a session on a terminal in memory. */
function session(options: Partial<SessionOptions> = {}, { columns = 60, rows = 20 } = {}) {
  const at = memoryTerminal({ columns, rows })
  const { stdin, output } = at
  const events: UiEvent[] = []
  const { handle } = spawnSession({
    stdin,
    output,
    env: { TERM_PROGRAM: 'vscode' },
    theme: 'dark',
    onEvent: (event) => void events.push(event),
    ...options,
  })
  open.push(() => handle.send({ type: 'shutdown' }))
  return { ...at, handle, events }
}
const count = (text: string, part: string): number => text.split(part).length - 1

describe('screen', () => {
  it('writes finished text once, in order, and redraws only what is below it', async () => {
    const { handle, text, until, frames } = session()
    for (let at = 0; at < 200; at++) handle.send({ type: 'commit', block: { kind: 'text', text: `message ${at}.` } })
    handle.send({ type: 'activity', state: 'Working' })
    await until('message 199.')
    await until('Working')
    await sleep(700)
    handle.send({ type: 'activity' })
    handle.send({ type: 'commit', block: { kind: 'markdown', text: 'the **end**' } })
    await until('the end')
    expect(text()).not.toContain('Working')
    for (let at = 0; at < 200; at++) expect(count(text(), `message ${at}.`), `${at}`).toBe(1)
    expect(faultsOf(frames.join(''))).toEqual([])
  })

  it('keeps every line once while the terminal changes its size and text streams', async () => {
    const { handle, text, until, resize, frames } = session({}, { columns: 80, rows: 24 })
    for (let at = 0; at < 40; at++) handle.send({ type: 'commit', block: { kind: 'text', text: `before ${at}.` } })
    await until('before 39.')
    handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
    for (const [step, [columns, rows]] of (
      [
        [40, 24],
        [120, 30],
        [80, 10],
        [55, 24],
        [80, 24],
      ] as const
    ).entries()) {
      for (let word = 0; word < 10; word++) {
        handle.send({ type: 'live', id: 'a', append: `part ${step}-${word}. ` })
        await sleep(12)
      }
      handle.send({ type: 'live', id: 'a', append: '\n\nnext' })
      await resize(columns, rows)
      await sleep(80)
    }
    handle.send({ type: 'live', id: 'a', append: ' last.', done: true })
    await until('last.')
    // A terminal wraps wider lines at any character.
    const joined = text().replace(/\s+/g, '')
    for (let at = 0; at < 40; at++) expect(count(joined, `before${at}.`), `${at}`).toBe(1)
    for (let step = 0; step < 5; step++)
      for (let word = 0; word < 10; word++) expect(count(joined, `part${step}-${word}.`), `${step}-${word}`).toBe(1)
    expect(faultsOf(frames.join(''))).toEqual([])
  })

  it('shows Markdown that arrives in pieces like the whole text', async () => {
    const pages = ['terminal', 'skills', 'sessions'].map((name) =>
      readFileSync(`docs/${name}.md`, 'utf8').slice(0, rounds(3000, 6000)),
    )
    const rowsOf = async (send: (handle: ReturnType<typeof session>['handle']) => Promise<void>): Promise<string[]> => {
      const { handle, until, text } = session({}, { columns: 90, rows: 30 })
      await send(handle)
      handle.send({ type: 'commit', block: { kind: 'note', text: 'That is all.' } })
      await until('That is all.')
      return text()
        .split('\n')
        .filter((row) => row.trim() !== '')
    }
    await Promise.all(
      pages.map(async (page) => {
        const whole = await rowsOf(async (handle) =>
          handle.send({ type: 'commit', block: { kind: 'markdown', text: page } }),
        )
        const pieces = await rowsOf(async (handle) => {
          handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
          for (let at = 0; at < page.length; at += 90) {
            handle.send({ type: 'live', id: 'a', append: page.slice(at, at + 90) })
            await sleep(36)
          }
          handle.send({ type: 'live', id: 'a', append: '', done: true })
        })
        expect(pieces).toEqual(whole)
      }),
    )
  })

  it('writes at most 1 KiB per frame of a long stream, each frame as one synchronized write', async () => {
    const { handle, until, frames } = session({}, { columns: 100, rows: 30 })
    await sleep(300)
    frames.length = 0
    const text = Array.from(
      { length: 60 },
      (_, at) =>
        `Paragraph ${at} has a **few** words and some \`code\`.\n\n${at % 10 === 5 ? '```js\nconst a = 1 // comment\nfunction b() { return "text" }\n```\n\n' : ''}`,
    ).join('')
    handle.send({ type: 'live', id: 'a', block: { kind: 'markdown', text: '' } })
    handle.send({ type: 'activity', state: 'Answering' })
    for (let at = 0; at < text.length; at += 20) {
      handle.send({ type: 'live', id: 'a', append: text.slice(at, at + 20) })
      await sleep(8)
    }
    handle.send({ type: 'live', id: 'a', append: '', done: true })
    await until('Paragraph 59')
    const sizes = frames.map((frame) => Buffer.byteLength(frame)).sort((a, b) => a - b)
    expect(sizes.at(Math.floor(sizes.length * 0.95))).toBeLessThanOrEqual(1024)
    // eslint-disable-next-line no-control-regex
    for (const frame of frames) expect(frame).toMatch(/^(?:\u001b\[>4;2m)?(?:\u001b\[\?2026h[^]*\u001b\[\?2026l)?$/)
  })

  it('shows hostile text as text, whatever it contains', async () => {
    const { handle, until, frames } = session()
    const hostile = 'a\u001b]52;c;YQ==\u0007b\u001b]0;title\u0007\u001b[2J\u001b[H\u202ec\u009b31md\u001b[8mhidden'
    for (const kind of ['markdown', 'text', 'output', 'user', 'note', 'error', 'diff'] as const)
      handle.send({ type: 'commit', block: { kind, text: `${kind} ${hostile}` } })
    handle.send({ type: 'status', left: hostile, right: hostile })
    handle.send({ type: 'queue', items: [hostile] })
    handle.send({ type: 'activity', state: hostile, detail: hostile })
    handle.send({ type: 'subagents', lines: [hostile] })
    handle.send({
      type: 'overlay',
      overlay: {
        kind: 'select',
        id: 'x',
        title: hostile,
        choices: [{ value: 'v', label: hostile, description: hostile }],
      },
    })
    await until(/diff\s+a\\u\{1b\}\]52/)
    handle.send({ type: 'close_overlay', id: 'x' })
    handle.send({
      type: 'overlay',
      overlay: { kind: 'confirm', id: 'y', title: hostile, body: [{ kind: 'diff', text: hostile }], answers: [] },
    })
    await until(/\? a\\u\{1b\}/)
    const raw = frames.join('')
    expect(faultsOf(raw)).toEqual([])
    // eslint-disable-next-line no-control-regex
    expect(raw).not.toMatch(/\u001b\]|\u009b|\u202e|\u001b\[[\d;]*8m/)
  })

  it('keeps the colors of program output and of a line that overwrites another', async () => {
    const { handle, until, frames, text } = session()
    handle.send({
      type: 'commit',
      block: { kind: 'output', text: '\u001b[31mred\u001b[0m\r\n10 %\r50 %\r100 %\r\ndone\n' },
    })
    await until('done')
    expect(frames.join('')).toContain('\u001b[31mred')
    expect(text()).toMatch(/red\n100 %\ndone/)
  })
})

describe('second screen', () => {
  it('scrolls by pages and the wheel, redraws for another size and leaves the text on the first screen', async () => {
    const { handle, until, frames, type, resize, text, screen, drawn } = session({ surface: 'alternate' })
    expect(screen.buffer.active.type).toBe('normal')
    for (let at = 0; at < 60; at++) handle.send({ type: 'commit', block: { kind: 'text', text: `message ${at}.` } })
    await until('message 59.')
    expect([screen.buffer.active.type, text().includes('message 40.')]).toEqual(['alternate', false])
    type('draft\u001b[5~')
    await until(/message 26\.[^]*message 42\.\n\n> draft/)
    handle.send({ type: 'commit', block: { kind: 'text', text: 'new one.' } })
    type('\u001b[<64;5;5M')
    await until(/^message 23\.[^]*message 39\.\n\n> draft/)
    type('\u001b[6~\u001b[6~')
    await until(/new one\.\n\n> draft/)
    await resize(12, 10)
    await until(/message 59\.\nnew one\.\n\n> draft$/)
    await resize(60, 20)
    await until(/^message 44\.[^]*new one\.\n\n> draft$/)
    frames.length = 0
    handle.send({ type: 'shutdown' })
    await handle.closed
    await drawn()
    expect([screen.buffer.active.type, text().split('\n')]).toEqual([
      'normal',
      [...Array.from({ length: 60 }, (_, at) => `message ${at}.`), 'new one.'],
    ])
  })

  it('searches with / from the newest place, then returns the keys to the editor', async () => {
    const { handle, until, type, text } = session({ surface: 'alternate' })
    for (let at = 0; at < 90; at++)
      handle.send({
        type: 'commit',
        block: { kind: 'text', text: `message ${at}${at % 30 === 5 ? ' with a Needle' : ''}.` },
      })
    await until('message 89.')
    type('\u001b[5~')
    await sleep(50)
    for (const key of '/needle') type(key)
    await until(/message 65 with a Needle\.[^]*\/needle {2}1 of 3/)
    type('\r')
    await until(/message 35 with a Needle\.[^]*\/needle {2}2 of 3/)
    type('\u001b[A')
    await until(/message 5 with a Needle\.[^]*3 of 3/)
    type('\u001b[B')
    await until(/message 35 with[^]*2 of 3/)
    type('s')
    await until(/\/needles {2}not found/)
    type('\u001b')
    await expect.poll(text).not.toContain('/needles')
    type('\u001b[6~'.repeat(9))
    await until('message 89.')
    type('/x')
    await until(/^> \/x$/m)
  })

  it('copies text marked with the mouse and shows the mark meanwhile', async () => {
    const { handle, until, frames, type } = session({ surface: 'alternate' })
    for (let at = 0; at < 40; at++) handle.send({ type: 'commit', block: { kind: 'text', text: `漢字 line ${at}.` } })
    await until('line 39.')
    type('\u001b[<0;6;3M\u001b[<32;7;4M')
    await expect.poll(() => frames.join('')).toMatch(/\u001b\[7mline 25\./)
    type('\u001b[<0;7;4m')
    await expect
      .poll(() => frames.join(''))
      .toContain(`\u001b]52;c;${Buffer.from('line 25.\n漢字 li').toString('base64')}\u0007`)
  })

  it('returns the screen when the process is stopped and switches between the two screens', async () => {
    const { handle, until, screen, text, drawn } = session()
    handle.send({ type: 'commit', block: { kind: 'text', text: 'inline one.' } })
    handle.send({ type: 'surface', surface: 'alternate' })
    handle.send({ type: 'commit', block: { kind: 'text', text: 'second one.' } })
    await until(/^second one\./)
    handle.send({ type: 'suspend' })
    await drawn()
    expect([screen.buffer.active.type, text()]).toEqual(['normal', 'inline one.'])
    handle.send({ type: 'resume' })
    await until(/^second one\./)
    handle.send({ type: 'surface', surface: 'inline' })
    handle.send({ type: 'commit', block: { kind: 'text', text: 'third one.' } })
    await until(/^inline one\.\nsecond one\.\nthird one\.\n\n>/)
  })
})

it('sets the title and rings or notifies when a person is awaited, depending on the focus', async () => {
  const { handle, frames, type } = session()
  const written = (): string => frames.join('')
  handle.send({ type: 'title', text: 'a\u0007b\u001bc' })
  await expect.poll(written).toContain('\u001b]0;a b c\u0007')
  frames.length = 0
  handle.send({ type: 'notify', text: 'away only', away: true })
  handle.send({ type: 'notify', text: 'here\u0007\u001b]0;x' })
  await expect.poll(() => frames).toContain('\u0007')
  expect(written()).not.toMatch(/away only|here/)
  type('\u001b[O')
  await sleep(50)
  handle.send({ type: 'notify', text: 'waits\u0007\u001b]0;x', away: true })
  await expect.poll(() => frames).toContain('\u001b]9;waits ]0;x\u0007\u0007')
})

describe('editor', () => {
  it('takes several lines, undoes, kills and yanks, and recalls earlier inputs', async () => {
    const { type, events, until, handle } = session({ history: ['older', 'old'] })
    const key = async (data: string) => (type(data), await sleep(30))
    for (const data of ['one two', '\u0017', '\u0019', '\u0019', '\\', '\r', 'three', '\r']) await key(data)
    await expect.poll(() => events).toEqual([{ type: 'submit', text: 'one twotwo\nthree' }])
    await key('x')
    await key('\u001f')
    expect(handle.input).toBe('')
    for (const wanted of ['one twotwo\nthree', 'old', 'older']) {
      await key('\u001b[A')
      while (handle.input !== wanted && handle.input.includes('three')) await key('\u001b[A')
      expect(handle.input).toBe(wanted)
    }
    await until('older')
  })

  it('takes a paste as one text, however long, and with its line ends', async () => {
    const { type, events } = session()
    const trace = Array.from({ length: 500 }, (_, at) => `  at line ${at}`).join('\n')
    type(`\u001b[200~${trace}\u001b[201~`)
    await sleep(100)
    expect(events).toEqual([])
    type('\r')
    await expect.poll(() => events.length).toBe(1)
    expect(events[0]).toEqual({ type: 'submit', text: trace.trim() })
    const long = 'x'.repeat(rounds(1_000_000, 10_000_000))
    type(`\u001b[200~${long}\u001b[201~`)
    await sleep(300)
    type('\r')
    await expect.poll(() => events.length).toBe(2)
    expect((events[1] as { text: string }).text.length).toBe(long.length)
  })

  it('keeps bytes that are not UTF-8 and joins letters that arrive in pieces', async () => {
    const { stdin, handle, until } = session()
    const [first, second] = [Buffer.from('漢').subarray(0, 2), Buffer.from('漢').subarray(2)]
    for (const bytes of [Buffer.from([0x61, 0xff, 0xfe, 0x62]), first, second]) {
      stdin.write(bytes)
      await sleep(40)
    }
    await until('b漢')
    expect(handle.input).toBe('a\ufffd\ufffdb漢')
  })

  it('puts the terminal cursor at the typed text for input methods', async () => {
    const { type, screen, until } = session()
    type('漢字 ab')
    await until('漢字 ab')
    await sleep(50)
    expect([
      screen.buffer.active.cursorX,
      screen.buffer.active.getLine(screen.buffer.active.baseY + screen.buffer.active.cursorY)!.translateToString(true),
    ]).toEqual([9, '> 漢字 ab'])
  })

  it('maps keys: Enter sends or queues, Ctrl-Enter steers, Escape stops, Shift-Tab and Ctrl-O ask', async () => {
    const { type, events, handle } = session()
    const key = async (data: string) => (type(data), await sleep(30))
    await key('a\r')
    handle.send({ type: 'activity', state: 'Working' })
    await key('b\r')
    await key('c')
    await key('\u001b[13;5u')
    await key('\u001b')
    await sleep(60)
    await key('\u0003')
    await key('\u001b[Z')
    await key('\u000f')
    handle.send({ type: 'activity' })
    await key('half\u0003')
    expect(handle.input).toBe('')
    await key('\u0003')
    await key('\u0003')
    expect(events).toEqual([
      { type: 'submit', text: 'a' },
      { type: 'queue_submit', text: 'b' },
      { type: 'steer', text: 'c' },
      { type: 'cancel' },
      { type: 'interrupt' },
      { type: 'cycle_mode' },
      { type: 'toggle_detail' },
      { type: 'exit' },
    ])
  })

  it('offers commands after a slash and files after an at sign', async () => {
    const { type, until, handle } = session({
      slashCommands: [
        { name: 'compact', description: 'Shortens it' },
        { name: 'mode', description: 'Changes it', arguments: '<mode>', choices: ['plan', 'auto'] },
      ],
      files: async (query) => ['src/a.ts', 'src/b.ts'].filter((path) => path.includes(query)),
    })
    type('/m')
    await until('/mode <mode>')
    type('\t')
    await sleep(50)
    expect(handle.input).toBe('/mode ')
    type('\u0003')
    await sleep(50)
    type('look at @b')
    await until('→ src/b.ts')
    await sleep(50)
    type('\t')
    await expect.poll(() => handle.input).toBe('look at @src/b.ts ')
  })
})

it('keeps the typed text visible below a menu in a low terminal', async () => {
  const { type, until } = session(
    { slashCommands: Array.from({ length: 12 }, (_, at) => ({ name: `c${at}`, description: 'Does it' })) },
    { columns: 30, rows: 8 },
  )
  type('/')
  await until(/^> \/\n +→ \/c0[^]*\/c2/m)
})

describe('question dialog', () => {
  const overlay = (id: string) => ({
    type: 'overlay' as const,
    overlay: {
      kind: 'confirm' as const,
      id,
      title: 'May it?',
      body: [{ kind: 'diff' as const, text: '-old\n+new' }],
      answers: [
        { key: 'y', value: 'yes', label: 'yes' },
        { key: 'n', value: 'no', label: 'no' },
        { key: 'w', value: 'why', label: 'no, because' },
      ],
      texts: [{ value: 'why', label: 'No' }],
    },
  })

  const answerOf = (events: readonly UiEvent[]) => events.filter(({ type }) => type === 'overlay_result')

  it('owns the keyboard, keeps text for the editor and answers only with a selection and Enter', async () => {
    const { type, events, handle, until, text } = session()
    type('ye')
    handle.send(overlay('a'))
    await until(/^yes · no · no, because\n↑ ↓ select · Enter answers[^\n]*\n> ye$/m)
    type('s')
    await until(/^> yes$/m)
    // Enter neither answers nor sends the text.
    for (const data of ['\r', ' ', '\u001b[200~y\ny\u001b[201~', '\r', '\u001b[13;5u', 'n']) type(data)
    await until(/^> yes y\n +yn$/m)
    expect(answerOf(events)).toEqual([])
    // A text that is typed keeps Tab, which completes it.
    for (const data of ['\t', '\r']) type(data)
    await until(/^yes · no · /m)
    expect(answerOf(events)).toEqual([])
    type('\u001b[B')
    await until('▸ yes · no')
    // Text takes the selection away.
    type('o')
    await until(/^yes · no · /m)
    type('\r')
    type('\u001b[B')
    await until('▸ yes · no')
    type('\u001b[B')
    await until('yes · ▸ no')
    expect(answerOf(events)).toEqual([])
    type('\r')
    await expect.poll(() => events).toEqual([{ type: 'overlay_result', id: 'a', value: 'no' }])
    expect(handle.input).toBe('yes y\nyno')
    await expect.poll(text).not.toContain('▸')
  })

  it('takes a single key as an answer only between two pauses', async () => {
    const { type, events, handle, until } = session()
    handle.send(overlay('a'))
    await until('y yes · n no · w no, because')
    type('y')
    await until('▸ yes')
    type('e')
    await until(/^> ye$/m)
    await sleep(1000)
    expect(answerOf(events)).toEqual([])
    type('\u007f')
    type('\u007f')
    await until('y yes · n no')
    type('n')
    await expect.poll(() => events).toEqual([{ type: 'overlay_result', id: 'a', value: 'no' }])
    handle.send(overlay('b'))
    await until('y yes · n no')
    for (const data of ['w', '\r']) type(data)
    await until(/^No:$/m)
    type('do that\r')
    await expect.poll(() => events.at(-1)).toEqual({ type: 'overlay_result', id: 'b', value: 'why', text: 'do that' })
    expect(handle.input).toBe('')
  })

  it('shows long answers of others in a frame, with the selected one', async () => {
    const { type, events, handle, until, text } = session({}, { columns: 40, rows: 14 })
    const answers = Array.from({ length: 30 }, (_, at) => ({
      value: `v${at}`,
      label: `label ${at}${' '.repeat(30)}vtcode asks: yes?`,
      description: '',
    }))
    const body = [{ kind: 'text' as const, text: `one${' '.repeat(40)}vtcode asks: yes?` }]
    handle.send({ type: 'overlay', overlay: { kind: 'confirm', id: 'l', title: 'Which?', body, answers } })
    await until('label 0')
    for (let step = 0; step < 21; step++) type('\u001b[B')
    await until('▸ label 20')
    const rows = text().split('\n')
    expect(rows.filter((row) => /vtcode asks/.test(row)).length).toBeGreaterThan(2)
    expect(rows.filter((row) => /vtcode asks|label/.test(row) && !row.startsWith('│ '))).toEqual([])
    type('\r')
    await expect.poll(() => events).toEqual([{ type: 'overlay_result', id: 'l', value: 'v20' }])
  })

  it('takes no letter that was typed while the program was stopped', async () => {
    // Keys from a pipe or a terminal wait outside the program.
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const person = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [stdin] = (await once(server, 'connection')) as [Socket]
    open.push(() => (person.destroy(), server.close()))
    const { handle, events } = session({ stdin: Object.assign(stdin, { isTTY: true }) })
    person.write('a')
    await expect.poll(() => handle.input).toBe('a')
    person.write('\u007f')
    await expect.poll(() => handle.input).toBe('')
    // Timers come next, then keys.
    await new Promise(setImmediate)
    handle.send(overlay('a'))
    person.write('yes')
    for (const end = performance.now() + 400; performance.now() < end;);
    await expect.poll(() => handle.input).toBe('yes')
    expect(events).toEqual([])
  })

  it('shows every key in a narrow terminal too', async () => {
    const { handle, until } = session({}, { columns: 26, rows: 12 })
    handle.send({
      type: 'overlay',
      overlay: {
        kind: 'confirm',
        id: 'n',
        title: 'May it?',
        body: [{ kind: 'text', text: 'long\n'.repeat(20) }],
        answers: ['yes', 'yes, for this session', 'always', 'no', 'no, and what instead'].map((label, at) => ({
          key: String(at),
          value: label,
          label,
        })),
        texts: [],
      },
    })
    await until(/^0 yes\n1 yes, for this session\n2 always · 3 no\n4 no, and what instead$/m)
  })

  it('narrows a list of answers by typing', async () => {
    const { type, events, handle, until } = session()
    handle.send({
      type: 'overlay',
      overlay: {
        kind: 'select',
        id: 'm',
        title: 'Which model?',
        choices: ['anthropic/opus', 'openai/gpt', 'openai/mini'].map((value) => ({ value, label: value })),
      },
    })
    await until('openai/gpt')
    for (const data of ['m', 'i', 'n']) {
      type(data)
      await sleep(20)
    }
    type('\r')
    await expect.poll(() => events).toEqual([{ type: 'overlay_result', id: 'm', value: 'openai/mini' }])
  })

  it('pages through a long text', async () => {
    const { type, handle, until, text } = session()
    handle.send({
      type: 'overlay',
      overlay: {
        kind: 'pager',
        id: 'p',
        title: 'all of it',
        body: [{ kind: 'text', text: Array.from({ length: 100 }, (_, at) => `row ${at}`).join('\n') }],
      },
    })
    await until('row 0')
    type('G')
    await until('row 99')
    type('q')
    await expect.poll(text).not.toContain('row 99')
  })
})

it('follows the colors of the terminal and a request for none', () => {
  expect(detectTheme({})).toBe('dark')
  expect(detectTheme({ COLORFGBG: '0;15' })).toBe('light')
  expect(detectTheme({ COLORFGBG: '15;0' })).toBe('dark')
  expect(detectTheme({ COLORFGBG: '0;15', NO_COLOR: '1' })).toBe('none')
})

it('refuses output that is no terminal, is too small or cannot move its cursor, with advice', () => {
  const stream = (more: object) => Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24, ...more })
  const attempt = (options: Partial<SessionOptions>) => () =>
    spawnSession({ stdin: stream({}), output: stream({}), env: {}, nonInteractiveHint: 'vtcode exec', ...options })
  const refusal = expect.objectContaining({
    problem: expect.objectContaining({ code: 'VT_UI_NO_TTY', hint: 'vtcode exec' }),
  })
  for (const options of [
    { stdin: stream({ isTTY: false }) },
    { output: stream({ isTTY: false }) },
    { env: { TERM: 'dumb' } },
    { output: stream({ columns: 20, rows: 5 }) },
    { output: stream({ columns: 12 }) },
  ])
    expect(attempt(options)).toThrow(refusal)
})
