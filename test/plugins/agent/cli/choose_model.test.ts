import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../../support/inside.js'
import { home, startPeer, vtcode } from '../../../support/peer.js'
import { typing } from '../../../support/terminal.js'

/** A user with the keys of two providers, who has chosen no model. */
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

describe('where several providers can be asked and nobody has chosen a model', () => {
  it('a person at a terminal picks one, their settings keep it, and it is asked then and from then on', async () => {
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
  it('a person who picks none, and a program, get the list to paste from, and nothing is written', async () => {
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
  it('a choice that a repository brought holds for the run alone', async () => {
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
  it('a choice that cannot be kept holds for the run, and the line for the settings is said', async () => {
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
  it('a home that cannot be written is said, with the line to keep', async () => {
    const { at, env } = await two([{ content: 'from the pick' }])
    const person = await typing(at, ['exec', 'hi'], { env: { ...env, VTCODE_HOME: '/sys/vtcode' } })
    await person.until('Which model?')
    person.terminal.write('\r')
    await person.until('/sys/vtcode/vtcode.config.yaml is not changed: ')
    await person.until('agent: { model: anthropic/claude-sonnet-5-5 }')
    expect(await person.end()).toMatchObject({ code: 0, rest: expect.stringContaining('from the pick') })
  })
})
