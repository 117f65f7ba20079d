import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../../support/inside.js'
import { home, startPeer, vtcode } from '../../../support/peer.js'
import { typing } from '../../../support/terminal.js'

/** Makes a user with the keys of two providers and no chosen model. */
async function two(script: Parameters<typeof startPeer>[0]) {
  const peer = hold(await startPeer(script))
  const at = hold(await home(peer))
  rmSync(join(at.home, '.vtcode'), { recursive: true })
  const env = {
    ANTHROPIC_API_KEY: 'x'.repeat(20),
    ANTHROPIC_BASE_URL: `${peer.url}/v1`,
    DEEPSEEK_API_KEY: 'y'.repeat(20),
    DEEPSEEK_BASE_URL: `${peer.url}/v1`,
  }
  return { peer, at, env, file: join(at.home, '.vtcode/vtcode.config.yaml') }
}
const down = '\u001b[B'

describe('model choice at start', () => {
  it('saves the model that the user picks at a terminal and uses it from then on', async () => {
    const { peer, at, env, file } = await two([{ content: 'from the pick' }, { content: 'once more' }])
    const person = await typing(at, ['exec', 'hi'], { env })
    await person.until('Which model?')
    await person.until('claude-sonnet-5-5')
    person.terminal.write(`${down}${down}${down}\r`)
    await person.until('+   model: deepseek/deepseek-v4-pro')
    expect(await person.end()).toMatchObject({ code: 0, rest: expect.stringContaining('from the pick') })
    expect(readFileSync(file, 'utf8')).toBe('agent:\n  model: deepseek/deepseek-v4-pro\n')
    expect(await vtcode(at, ['exec', 'hi'], { env })).toMatchObject({ code: 0, out: 'once more\n' })
    expect(peer.bodies.map(({ model }) => model)).toEqual(['deepseek-v4-pro', 'deepseek-v4-pro'])
  })
  it('prints the list of models and writes nothing when the user picks none or is a program', async () => {
    const { peer, at, env, file } = await two([])
    const person = await typing(at, ['exec', 'hi'], { env })
    await person.until('Which model?')
    person.terminal.write('\u001b')
    const list =
      '--model anthropic/claude-sonnet-5-5, --model deepseek/deepseek-v4-pro. A provider alone stands for its first model: --model anthropic.'
    const ended = await person.end()
    expect([ended.code, ended.rest.replace(/\s+/g, ' ')]).toEqual([3, expect.stringContaining(list)])
    expect(await vtcode(at, ['exec', 'hi'], { env })).toMatchObject({ code: 3, err: expect.stringContaining(list) })
    expect([peer.asked, existsSync(file)]).toEqual([[], false])
  })
  it('keeps a choice from a provider of the repository out of the user settings', async () => {
    const { peer, at, env, file } = await two([{ content: 'from the team' }])
    writeFileSync(
      join(at.root, 'vtcode.config.json'),
      JSON.stringify({
        custom_providers: [{ name: 'team', base_url: `${peer.url}/v1`, api_key_env: 'none', models: ['m'] }],
      }),
    )
    await vtcode(at, ['trust', 'add', '--all'])
    const person = await typing(at, ['exec', 'hi'], { env })
    await person.until('team/m')
    person.terminal.write('\r')
    await person.until('from the team')
    await person.end()
    expect(existsSync(file)).toBe(false)
  })
  it('uses a choice that cannot be saved for the run and prints the line for the settings', async () => {
    const { at, env } = await two([{ content: 'from the pick' }])
    mkdirSync(join(at.home, '.vtcode'))
    writeFileSync(join(at.home, '.vtcode/vtcode.config.ts'), 'export default {}\n')
    const person = await typing(at, ['exec', 'hi'], { env })
    await person.until('Which model?')
    person.terminal.write('\r')
    await person.until('it is written in code')
    await person.until('agent: { model: anthropic/claude-sonnet-5-5 }')
    expect(await person.end()).toMatchObject({ code: 0, rest: expect.stringContaining('from the pick') })
    expect(readFileSync(join(at.home, '.vtcode/vtcode.config.ts'), 'utf8')).toBe('export default {}\n')
  })
  it('reports a home that is not writable and prints the line to keep', async () => {
    const { at, env } = await two([{ content: 'from the pick' }])
    const person = await typing(at, ['exec', 'hi'], { env: { ...env, VTCODE_HOME: '/sys/vtcode' } })
    await person.until('Which model?')
    person.terminal.write('\r')
    await person.until("Cannot change '/sys/vtcode/vtcode.config.yaml': ")
    await person.until('agent: { model: anthropic/claude-sonnet-5-5 }')
    expect(await person.end()).toMatchObject({ code: 0, rest: expect.stringContaining('from the pick') })
  })
})
