import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../support/inside.js'
import { call, home, startPeer, vtcode, type Home } from '../../support/peer.js'

const write = (path: string) => ({ toolCalls: [call('unified_file', { action: 'write', path, content: 'x' })] })
const place = async (script: Parameters<typeof startPeer>[0], settings: object = {}): Promise<Home> =>
  hold(await home(hold(await startPeer(script)), {}, { settings }))
const sessionOf = ({ root }: Home): string =>
  readdirSync(join(root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))!

describe('vtcode resume', () => {
  it('continues in auto what began in auto, as exec resume does', async () => {
    const at = await place([
      { content: 'begun' },
      write('a.txt'),
      { content: 'one' },
      write('b.txt'),
      { content: 'two' },
    ])
    await vtcode(at, ['exec', '--quiet', 'begin'])
    expect(await vtcode(at, ['resume', '--quiet', sessionOf(at), 'write'])).toMatchObject({ code: 0, out: 'one\n' })
    expect(await vtcode(at, ['exec', 'resume', '--quiet', sessionOf(at), 'write'])).toMatchObject({
      code: 0,
      out: 'two\n',
    })
    expect([await at.read('a.txt'), await at.read('b.txt')]).toEqual(['x', 'x'])
  })

  it('stays as strict as the session was, unless another mode is named', async () => {
    const at = await place([
      { content: 'begun' },
      write('a.txt'),
      { content: 'one' },
      { content: 'not done' },
      write('b.txt'),
      { content: 'two' },
    ])
    await vtcode(at, ['exec', '--quiet', '--mode', 'plan', 'begin'])
    for (const args of [[sessionOf(at)], ['--mode', 'auto', sessionOf(at)]])
      await vtcode(at, ['resume', '--quiet', ...args, 'write'])
    expect([await at.read('a.txt'), await at.read('b.txt')]).toEqual([undefined, 'x'])
  })

  it('uses no mode that the settings of the user do not allow', async () => {
    const at = await place([{ content: 'begun' }, write('a.txt'), { content: 'one' }], { policy: { mode: 'plan' } })
    await vtcode(at, ['exec', '--quiet', '--mode', 'auto', 'begin'])
    await vtcode(at, ['resume', '--quiet', '--last', 'write'])
    expect(await at.read('a.txt')).toBeUndefined()
  })
})
