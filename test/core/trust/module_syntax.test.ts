import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const manifest = (more = '') =>
  `name: hello\ndescription: Greets.\neffects: [read]\ninput: { type: object, properties: {} }\nmodule: ./hello.js\n${more}`
const files = {
  'hello.js': "import { text } from './text.js'\nexport default async () => ({ ok: true, output: { text } })\n",
  'text.js': "export const text = 'hi'\n",
}
const common = "const { text } = require('./text.js')\nmodule.exports = async () => ({ ok: true, output: { text } })\n"

describe('a .js module of a plugin', () => {
  it.each([
    ['no package.json', undefined],
    ['type commonjs', '{"type":"commonjs"}'],
    ['type module', '{"type":"module"}'],
    ['no type', '{"name":"app"}'],
  ])('loads with export default under %s, for a call and for validate', async (_, text) => {
    const outer: Record<string, string> = text === undefined ? {} : { 'package.json': text }
    await using place = await tempWorkspace({ ...outer })
    await using tools = await tempWorkspace({ ...files, 'vtcode.yaml': manifest(), ...outer })
    const config = join(place.home, 'my.config.json')
    writeFileSync(config, JSON.stringify({ manifests: ['builtin', tools.root] }))
    const { stdout, stderr } = await vtcode(place, ['--config', config, 'call', 'hello'], { process: true })
    expect([stdout, stderr]).toEqual(['{"ok":true,"output":{"text":"hi"}}\n', ''])
    expect(await vtcode(place, ['plugins', 'validate', tools.root])).toMatchObject({ code: 0 })
  })

  it('loads CommonJS unchanged, and names a fault of its syntax', async () => {
    await using place = await tempWorkspace()
    await using tools = await tempWorkspace({
      'vtcode.yaml': manifest(),
      'hello.js': common,
      'text.js': "exports.text = 'hi'\n",
    })
    const config = join(place.home, 'my.config.json')
    writeFileSync(config, JSON.stringify({ manifests: ['builtin', tools.root] }))
    const call = async () => (await vtcode(place, ['--config', config, 'call', 'hello'], { process: true })).stdout
    expect(await call()).toBe('{"ok":true,"output":{"text":"hi"}}\n')
    writeFileSync(join(tools.root, 'hello.js'), 'export default async () => {\n')
    expect(await call()).toMatch(/"VT_PLUGIN_IMPORT".*hello\.js/)
  })
})
