import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { chat } from '../../support/chat.js'
import { hold } from '../../support/inside.js'
import { call, home, startPeer } from '../../support/peer.js'
import { drawn, faultsOf } from '../../support/screen.js'

const count = (text: string, part: string): number => text.split(part).length - 1
const squeezed = (text: string): string => text.replace(/\s+/g, '')
const said = (peer: { bodies: any[] }) => peer.bodies.map(({ messages }) => messages.at(-1).content)
const ready = /^peer\/m · ask/m
const write = (path: string, content = 'x\ny\n') => ({
  toolCalls: [call('unified_file', { action: 'write', path, content })],
})
const run = (command: string) => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
const slow = { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }

describe('the chat on a screen', () => {
  it('draws Markdown as it streams and keeps earlier text above it, once', async () => {
    const text = '# Title\n\nHello **bold** and `code`.\n\n```js\nconst a = 1\n```\n\n- one\n- two\n\nThe end.'
    const {
      type,
      until,
      end,
      text: shown,
      raw,
    } = await chat([{ content: text, how: { latency: 5, chunkSize: 8 } }, { content: 'again' }])
    await until(ready)
    type('hi there\r')
    await until('The end.')
    type('and?\r')
    await until(/^again$/m)
    expect(shown()).toMatch(
      /> hi there\n\n(?:· [^\n]*\n(?:[^\n]+\n)*\n)?Title\n\nHello bold and code\.\n\n```js\n {2}const a = 1\n```\n\n- one\n- two\n\nThe end\.\n\n> and\?\n\nagain/,
    )
    for (const part of ['hi there', 'Hello bold', 'const a = 1', 'The end.']) expect(count(shown(), part), part).toBe(1)
    expect(shown()).toMatch(/peer\/m · ask · \d+ % context · [\d.]+k? tokens/)
    // eslint-disable-next-line no-control-regex
    expect(raw()).toMatch(/\u001b\[35mconst/)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(shown()).not.toContain('/help\n')
    expect(faultsOf(raw())).toEqual([])
  })

  it('draws before the rest of the program is loaded, and keeps and sends what is typed meanwhile in order', async () => {
    const {
      peer,
      type,
      until,
      end,
      text: shown,
      raw,
      chunks,
    } = await chat([{ content: 'first answer' }, { content: 'second answer' }], ['chat'], { process: true })
    await expect.poll(() => chunks.length, { interval: 2 }).toBeGreaterThan(0)
    for (const data of ['sent early\r', 'and this\r', 'half']) type(data)
    await until(/second answer\n[^]*> half$/m)
    expect(said(peer)).toEqual(['sent early', 'and this'])
    for (const part of ['sent early', 'and this', 'second answer']) expect(count(shown(), part), part).toBe(1)
    expect(raw().indexOf('vtcode is starting')).toBeGreaterThan(0)
    expect(raw().indexOf('vtcode is starting')).toBeLessThan(raw().indexOf('session ses_'))
    expect(shown()).not.toContain('vtcode is starting')
    type('\u0003')
    await sleep(100)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(faultsOf(raw())).toEqual([])
  })

  it('draws on the alternate screen where set, and keeps the conversation on the main one', async () => {
    const peer = await startPeer([{ content: 'It is **so**.' }, { content: 'It is **so**.' }])
    hold(peer)
    for (const [words, surface] of [
      [[], 'alternate'],
      [['chat', '--surface', 'alternate'], 'inline'],
    ] as const) {
      const place = await home(peer, {}, { settings: { ui: { surface } } })
      hold(place)
      const { type, until, end, screen, text: shown } = await drawn(place, [...words], { inside: surface === 'inline' })
      await until(ready)
      type('hi there\r')
      await until('It is so.')
      expect(screen.buffer.active.type).toBe('alternate')
      type('\u0004')
      expect(await end()).toBe(0)
      expect(screen.buffer.active.type).toBe('normal')
      for (const part of ['> hi there', 'It is so.']) expect(count(shown(), part), part).toBe(1)
    }
  })

  it('restores the terminal before it reports why it cannot start', async () => {
    const place = await home({ url: 'http://127.0.0.1:9' }, { 'vtcode.config.json': '{ "policy": { "mode": 7 } }' })
    hold(place)
    const wrong = await drawn(place, ['chat'])
    expect(await wrong.end()).toBe(3)
    expect(wrong.text()).toMatch(/^vtcode: error: [^]*mode/)
    expect(wrong.raw().lastIndexOf('\u001b[?2004l')).toBeGreaterThan(wrong.raw().lastIndexOf('\u001b[?2004h'))
  })

  it('starts scheduled turns when idle and keeps typed text', async () => {
    const { peer, type, until, end } = await chat([{ content: 'Here is your tea.' }, { content: 'quick' }])
    await until(ready)
    type('/remind +2s tea\r')
    await until('Once at ')
    type('half')
    await until('Here is your tea.')
    type(' said\r')
    await until(/^quick$/m)
    expect(said(peer)).toEqual(['Remind me: tea', 'half said'])
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('shows a whole plan before it asks what to do with it', async () => {
    const steps = [{ action: 'Write greet.mjs' }, { action: 'Write its test' }]
    const { type, until, end } = await chat([
      {
        toolCalls: [
          call('propose_plan', {
            title: 'Greet by name',
            summary: 'A greeting.',
            steps,
            tests: 'none',
            assumptions: ['Nobody is rude.'],
          }),
        ],
      },
      { content: 'never' },
    ])
    await until(ready)
    type('/plan write a greeting\r')
    await until('What about the plan in')
    await until(
      /Greet by name\n[\s\S]*A greeting\.[\s\S]*1\. Write greet\.mjs\n2\. Write its test[\s\S]*Nobody is rude\.[\s\S]*What about the plan in/,
    )
    type('\u001b')
    await until(/plan is dropped|dropped the plan|· plan ·/)
    type('\u0004')
    await end()
  })

  it('opens on a terminal without a verb; --plain, TERM=dumb and a small terminal get lines', async () => {
    const { until, type, end } = await chat([], [], { process: true })
    await until(ready)
    type('\u0004')
    expect(await end()).toBe(0)
    for (const [words, how] of [
      [['chat', '--plain'], {}],
      [['chat'], { env: { TERM: 'dumb' } }],
      [['chat'], { columns: 20, rows: 5 }],
    ] as const) {
      const plain = await chat([], [...words], how)
      await plain.until(/session\s+ses_[^]*> $/)
      plain.type('\u0004')
      expect(await plain.end()).toBe(0)
      expect(plain.raw()).not.toContain('\u001b[?2026h')
    }
  })

  it('shows time, tokens and how to stop; Escape stops and keeps the text, marked', async () => {
    const { type, until, end, peer, text } = await chat([slow, { content: 'quick' }])
    await until(ready)
    type('tell me\r')
    await until(/Answering \d+ s .*Enter queues · Esc interrupts/)
    type('\u001b')
    await until('(stopped)')
    await until(/^cancelled$/m)
    expect(text()).toContain('slow slow')
    // The hint appears once.
    expect(text()).not.toMatch(/run was cancelled|stopped your answer/)
    type('again\r')
    await until('quick')
    type('\u0004')
    expect(await end()).toBe(0)
    expect(said(peer)).toEqual(['tell me', 'again'])
  })

  it('queues messages sent meanwhile, numbered; the arrow takes the last one back, Ctrl-Enter sends it first', async () => {
    const { type, until, end, peer, text } = await chat([slow, { content: 'steered' }, { content: 'one' }])
    await until(ready)
    type('tell me\r')
    await until('slow slow')
    for (const part of ['first', 'second']) {
      type(`${part}\r`)
      await until(new RegExp(`^ +\\d\\. ${part}$`, 'm'))
    }
    type('\u001b[A')
    await until(/^> second$/m)
    expect(text()).not.toMatch(/2\. second/)
    type('\u0003')
    type('no, this')
    await until(/^> no, this$/m)
    type('\u001b[13;5u')
    await until('steered')
    await until(/^one$/m)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(said(peer)).toEqual(['tell me', 'no, this', 'first'])
  })

  it('sends what was queued during a command in order, and returns it to the editor when the command is stopped', async () => {
    const { type, until, gone, end, peer, place } = await chat([{ content: 'one' }, { content: 'two' }])
    await until(ready)
    const queueTwo = async (): Promise<void> => {
      for (const [at, part] of ['first', 'second'].entries()) {
        type(`${part}\r`)
        await until(new RegExp(`^ +${at + 1}\\. ${part}$`, 'm'))
      }
    }
    type('!until [ -e go ]; do sleep 0.05; done\r')
    await until('Enter queues')
    await queueTwo()
    writeFileSync(join(place.root, 'go'), '')
    await until(/^two$/m)
    // Text typed before the turn ends is queued too.
    await gone('Enter queues')
    expect(said(peer)).toEqual(['first', 'second'])
    type('!until [ -e gone ]; do sleep 0.05; done\r')
    await until('Enter queues')
    await queueTwo()
    type('\u001b')
    await until(/^> first\n +second$/m)
    expect(said(peer)).toHaveLength(2)
    type('\u0003')
    await until(/^> \/ for commands/m)
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('shows the output of a running command, its last lines afterwards, and all of it with Ctrl-O', async () => {
    // The command continues after the shown output was seen.
    const command =
      'for n in 1 2 3; do echo start-$n.; done; until [ -e go ]; do sleep 0.1; done; seq 100 130; until [ -e on ]; do sleep 0.1; done; echo done'
    const { type, until, answer, end, text, place } = await chat(
      [run(command), { content: 'ran' }],
      ['--mode', 'auto', 'chat'],
      { columns: 110 },
    )
    await until(/^peer\/m · auto/m)
    type('run it\r')
    await until('? Run `')
    await answer('y')
    await until(/^ +start-2\.$/m)
    writeFileSync(join(place.root, 'go'), '')
    await until(/^ +130$/m)
    expect(text()).not.toMatch(/^ +110$/m)
    writeFileSync(join(place.root, 'on'), '')
    await until(/^ran$/m)
    expect(text()).toMatch(/✓ Run for [^✓]*exit\s+0 [^✓]*\n(?: +\d+\n){7} +done\n +27 more lines: Ctrl-O shows all/)
    type('\u000f')
    await until(/^start-1\.$/m)
    await until(/rows 1-\d+ of 35 /)
    type('q')
    await until(/^> \/ for commands/m)
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('supports multi-line keys, pastes and earlier chats in the editor', async () => {
    const trace = Array.from({ length: 500 }, (_, at) => `line ${at}`).join('\n')
    const first = await chat([{ content: 'got it' }])
    await first.until(ready)
    first.type(`\u001b[200~${trace}\u001b[201~`)
    await first.until('[paste #1 +500 lines]')
    first.type('\r')
    await first.until('got it')
    expect(said(first.peer)).toEqual([trace])
    first.type('\u0004')
    expect(await first.end()).toBe(0)
    const second = await drawn(first.place, ['chat'], { inside: true })
    await second.until(ready)
    second.type('\u0012')
    await second.until('Earlier messages')
    for (const key of 'line 499') second.type(key)
    second.type('\r')
    await second.until(/^ +line 499$/m)
    second.type('\u0003')
    await sleep(100)
    second.type('\u0004')
    expect(await second.end()).toBe(0)
  })
})

describe('an approval on the screen', () => {
  it('shows the exact change, the reason to ask and what always would cover, and keeps the change visible', async () => {
    const { type, until, answer, end, text, place } = await chat([write('a.txt'), { content: 'written' }])
    await until(ready)
    type('write\r')
    await until('Write a.txt? (+2 −0)')
    expect(text()).toMatch(/│ \+\+\+ b\/a\.txt\n│ @@ .*\n│ 1 \+x\n│ 2 \+y\n│ .*Mode ask needs approval/)
    expect(text()).toMatch(/· yes, this session: all edits of 'a\.txt'( ·|$)/m)
    expect(await place.read('a.txt')).toBeUndefined()
    await answer('y')
    await until(/^written$/m)
    expect(text()).toMatch(/✓ Write a\.txt {2}\+2 −0.*\n\+ x\n\+ y\n/)
    expect(await place.read('a.txt')).toBe('x\ny\n')
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it.each([
    ['actually', 120],
    ['say yes, always\r', 30],
    ['yes\r', 120],
    ['\u001b[200~y\ra\ryes\r\u001b[201~', 0],
  ])('takes no text as an answer and keeps it for the editor: %j at %i ms a key', async (typed, pace) => {
    const script = [run('rm a.md'), { content: 'deleted.' }, { content: 'bye' }]
    const { type, until, end, peer, place } = await chat(script, [], { files: { 'a.md': 'x\n' } })
    const approvals = (): string[] => {
      const folder = join(place.root, '.vtcode/approvals')
      return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
    }
    await until(ready)
    type('delete it\r')
    await until(/^y yes · yes, this session: `rm a\.md` in '\.'/m)
    for (const key of pace > 0 ? typed : [typed]) {
      type(key)
      await sleep(pace)
    }
    // Longer than the pause after which a single key answers.
    await sleep(1000)
    expect([await place.read('a.md'), approvals()]).toEqual(['x\n', []])
    for (const selected of ['yes', 'yes, this session: `rm a.md`']) {
      type('\u001b[B')
      await until(`▸ ${selected}`)
    }
    expect([await place.read('a.md'), approvals()]).toEqual(['x\n', []])
    type('\r')
    await until('deleted.')
    expect([await place.read('a.md'), approvals()]).toEqual([undefined, []])
    type('\r')
    await until(/^bye$/m)
    expect(said(peer)[2]).toBe(
      typed
        .replace(/\u001b\[20[01]~/g, '')
        .replaceAll('\r', '\n')
        .trim(),
    )
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('keeps a message in progress, and accepts instructions with a no', async () => {
    const { type, until, end, peer, place } = await chat([
      write('a.txt'),
      { content: 'as you say' },
      { content: 'bye' },
    ])
    await until(ready)
    type('write\r')
    for (const key of 'yes and no') {
      type(key)
      await sleep(60)
    }
    await until('? Write ')
    await until(/^> yes and no$/m)
    for (const key of ', also y') {
      type(key)
      await sleep(20)
    }
    await until(/^> yes and no, also y$/m)
    expect(await place.read('a.txt')).toBeUndefined()
    type('\u001b[A')
    await until('▸ no, do this instead')
    type('\r')
    await until(/^Do instead:$/m)
    type('call it b.txt\r')
    await until('as you say')
    await until(/^> yes and no, also y$/m)
    type('\r')
    await until(/^bye$/m)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(said(peer)[1]).toContain('The user says: call it b.txt')
    expect(said(peer)[2]).toBe('yes and no, also y')
    expect(await place.read('a.txt')).toBeUndefined()
  })

  it('takes Escape as a no, and keeps the chat open at Ctrl-C', async () => {
    const { type, until, answer, end, place } = await chat([write('a.txt'), { content: 'not then' }])
    await until(ready)
    type('write\r')
    await until('? Write ')
    await answer('\u001b')
    await until(/Not applied|not then/)
    expect(await place.read('a.txt')).toBeUndefined()
    await sleep(300)
    type('\u0004')
    expect(await end()).toBe(0)
  })
})

describe('the terminal of the chat screen', () => {
  it('keeps thirty lines of shell history and every message once through resizes, stops and approvals', async () => {
    const words = Array.from({ length: 120 }, (_, at) => `word${at}. ${at % 12 === 11 ? '\n\n' : ''}`).join('')
    const peer = await startPeer([
      { content: words, how: { latency: 10, chunkSize: 8 } },
      write('a.txt'),
      { content: 'written.' },
    ])
    hold(peer)
    const place = await home(peer)
    hold(place)
    const { bin } = await import('../../support/terminal.js')
    const at = await drawn(place, ['--norc', '--noprofile', '-i'], { program: '/bin/bash' })
    await at.until(/\$ $/m)
    at.type('for n in $(seq 1 30); do echo "earlier-$n."; done; stty -g | cksum\r')
    await at.until(/earlier-30\.\n\d+ \d+\n\$/)
    const before = /\n(\d+ \d+)\n\$/.exec(at.text())![1]!
    at.type(`'${process.execPath}' '${bin}' chat\r`)
    await at.until(ready)
    at.type('tell me\r')
    await at.until('word119.')
    // The turn is over.
    await at.gone('Esc interrupts')
    for (const [columns, rows] of [
      [40, 24],
      [120, 24],
      [80, 24],
    ] as const) {
      at.resize(columns, rows)
      await sleep(250)
    }
    at.type('\u001a')
    await at.until('Stopped')
    at.type('fg\r')
    // Drawn again, it has the keys.
    await at.until(ready)
    at.type('write\r')
    await at.until('? Write ')
    await at.answer('y')
    await at.until('written.')
    at.type('\u0003')
    await sleep(300)
    at.type('\u0003')
    await expect.poll(() => /\$ ?$/.test(at.text())).toBe(true)
    at.type('stty -g | cksum\r')
    await expect.poll(() => count(at.text(), before)).toBe(2)
    const all = squeezed(at.text())
    for (let line = 1; line <= 30; line++) expect(count(all, `earlier-${line}.`), `${line}`).toBe(1)
    for (let word = 0; word < 120; word++) expect(count(all, `word${word}.`), `word${word}`).toBe(1)
    for (const part of ['>tellme', '>write', 'written.', '✓Writea.txt']) expect(count(all, part), part).toBe(1)
    expect(faultsOf(at.raw())).toEqual([])
    at.type('exit\r')
    await at.end()
  })

  it('restores the terminal on SIGTERM during an answer, and the journal keeps the partial text', async () => {
    const { type, until, end, kill, raw, place } = await chat([slow], ['chat'], { process: true })
    await until(ready)
    type('tell me\r')
    await until('slow slow')
    kill('SIGTERM')
    expect(await end()).toBe(130)
    expect(raw().lastIndexOf('\u001b[?1004l')).toBeGreaterThan(raw().lastIndexOf('\u001b[?1004h'))
    const again = await drawn(place, ['chat', '--plain', '--resume', 'last'])
    await again.until(/session ses_[^]*> $/)
    again.type('\u0004')
    expect(await again.end()).toBe(0)
  })

  it('shows text of a model, of its tools and of file names as plain text', async () => {
    const hostile = 'a\u001b]52;c;YQ==\u0007b\u001b]0;title\u0007\u001b[2J\u001b[Hc\u202ed'
    const { type, until, end, raw } = await chat([
      { content: hostile, toolCalls: [call('unified_file', { action: 'read', path: hostile })] },
      { content: 'end of it' },
    ])
    await until(ready)
    type('go\r')
    await until('end of it')
    type('\u0004')
    await end()
    expect(raw()).toContain('\\u{1b}]52')
    // eslint-disable-next-line no-control-regex
    expect(raw().replace(/\u001b\](?:0;vtcode|9;)[^\u0007]*\u0007/g, '')).not.toMatch(/\u001b\]|\u202e|\u001b\[2J/)
  })
})
