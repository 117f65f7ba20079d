import { describe, expect, it } from 'vitest'
import { hold } from '../../support/inside.js'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'

const write = (path: string): Answer => ({ toolCalls: [call('unified_file', { action: 'write', path, content: 'x' })] })
const scene = async (script: Answer[], settings: object = {}): Promise<Home> =>
  hold(await home(hold(await startPeer(script)), {}, { settings: { agent: { model: 'peer/m' }, ...settings } }))
const chat = (at: Home, lines: string[], ...flags: string[]) =>
  vtcode(at, ['chat', '--quiet', ...flags], { input: lines.map((line) => `${line}\n`).join('') })

describe('/mode', () => {
  it('applies from the next call on, also in a resumed chat, until another mode is chosen', async () => {
    const at = await scene([
      write('a.txt'),
      { content: 'done' },
      { content: 'not done' },
      write('b.txt'),
      { content: 'b is there' },
      write('c.txt'),
      { content: 'c is there' },
      write('d.txt'),
      { content: 'done' },
      { content: 'not done' },
    ])
    const first = await chat(at, ['/mode plan', 'write a', '/mode auto', 'write b', '/mode'])
    expect(first.err).toMatch(
      /^plan\nNot applied: unified_file a\.txt \(VT_POLICY_DENIED\)\nescalated: .*\nA change was refused.*\n.*\nauto\nauto\n$/,
    )
    expect([await at.read('a.txt'), await at.read('b.txt')]).toEqual([undefined, 'x'])
    expect((await chat(at, ['write c', '/mode plan'], '--resume', 'last')).err).toBe('plan\n')
    expect(await at.read('c.txt')).toBe('x')
    expect((await chat(at, ['/mode', 'write d'], '--resume', 'last')).err).toMatch(
      /^plan\nNot applied: unified_file d\.txt/,
    )
    expect(await at.read('d.txt')).toBeUndefined()
  })

  it('gives way to the mode that is named when the session is resumed', async () => {
    const at = await scene([{ content: 'hello' }, write('a.txt'), { content: 'a is there' }])
    await chat(at, ['/mode plan', 'hello'])
    expect((await chat(at, ['/mode', 'write a'], '--resume', 'last', '--mode', 'auto')).err).toBe('auto\n')
    expect(await at.read('a.txt')).toBe('x')
  })

  it('lists the available modes and names the one that it was lowered to', async () => {
    const at = await scene([], { policy: { max_mode: 'ask' } })
    const { err } = await chat(at, ['/mode yolo', '/mode auto', '/mode'])
    expect(err).toMatch(
      /VT_CONFIG_INVALID: Unknown mode 'yolo'[\s\S]*plan, ask, auto, full-auto[\s\S]*\nask\n.*The settings do not permit mode auto.*\nask\n$/,
    )
  })
})
