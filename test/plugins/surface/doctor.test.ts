import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const manifest = (name: string) => `name: ${name}\ndescription: Is broken.\neffects: [read]\nmodule: ./${name}.js\n`
const modules = {
  throws: "throw new Error('on import')",
  hangs: 'await new Promise(() => setInterval(() => {}, 1000))',
  exports_nothing: 'export const a = 1',
  good: "export default () => ({ ok: true, output: { fine: true } })",
}

async function broken(): Promise<TempWorkspace> {
  const made = await tempWorkspace({ 'a.txt': 'hello\n' })
  for (const [name, code] of Object.entries(modules)) {
    await made.write(`../home/tools/${name}.yaml`, manifest(name))
    await made.write(`../home/tools/${name}.js`, code)
  }
  await made.write('../home/tools/missing.yaml', manifest('missing'))
  await made.write('../home/tools/not_yaml.yaml', 'name: [\n')
  await made.write('../home/tools/wrong.yaml', 'name: wrong\ndescription: x\neffects: [fly]\nmodule: ./good.js\n')
  await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/tools']\nplugins: { import_timeout_secs: 1 }\n`)
  return made
}

describe('vtcode doctor', () => {
  it('has nothing to fix where nothing is wrong', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['doctor'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to fix.') })
  })

  it('says whether commands run in a sandbox, and what follows when they do not', async () => {
    await using made = await tempWorkspace()
    const told = async (settings: string, env: Record<string, string> = {}) => {
      await made.write('../home/.vtcode/vtcode.config.yaml', settings)
      return { text: (await vtcode(made, ['doctor'], { env })).stdout, ...JSON.parse((await vtcode(made, ['doctor', '--json'], { env })).stdout).sandbox }
    }
    expect(await told('sandbox: { mode: off }\n')).toMatchObject({ mode: 'off', used: false, text: expect.stringMatching(/sandbox .*may outlive its session/) })
    const bare = { PATH: '/nonexistent' }
    expect(await told('{}\n', bare)).toMatchObject({ mode: 'auto', used: false, missing: expect.stringContaining('bwrap'), text: expect.stringContaining('may outlive') })
    expect(await told('sandbox: { mode: required }\n', bare)).toMatchObject({ used: false, text: expect.stringContaining('no command runs') })
  })

  it('shows which hosts the settings exempt from the rule of public addresses', async () => {
    await using made = await tempWorkspace()
    await made.write('../home/.vtcode/vtcode.config.yaml', 'web: { private_hosts: [wiki.lan, 10.0.0.0/8] }\n')
    expect((await vtcode(made, ['doctor'])).stdout).toMatch(/web .*wiki\.lan, 10\.0\.0\.0\/8/)
    expect(JSON.parse((await vtcode(made, ['doctor', '--json'])).stdout).web).toEqual({ private_hosts: ['wiki.lan', '10.0.0.0/8'] })
  })

  it('names what cannot be read by file and line, and runs no plugin', async () => {
    await using made = await broken()
    const ran = await vtcode(made, ['doctor'])
    expect(ran.code).toBe(1)
    expect(ran.stdout).toMatch(/not_yaml\.yaml:\d/)
    expect(ran.stdout).toMatch(/wrong\.yaml:3/)
    expect(ran.stdout).not.toContain('on import')
  })

  it('imports everything with --probe and finds what throws, hangs, is missing or exports nothing', async () => {
    await using made = await broken()
    const ran = await vtcode(made, ['doctor', '--probe', '--json'])
    const { diagnostics, contributions } = JSON.parse(ran.stdout)
    const texts = diagnostics.map(({ files, message }: { files: string[]; message: string }) => `${files} ${message}`).join('\n')
    for (const name of ['throws', 'hangs', 'exports_nothing', 'missing']) expect(texts).toContain(`${name}.yaml`)
    expect(texts).not.toContain('good.yaml')
    expect(contributions.length).toBeGreaterThan(10)
    expect(ran.code).toBe(1)
  })

  it('imports one plugin again with --retry, and no other', async () => {
    await using made = await broken()
    expect((await vtcode(made, ['doctor', '--retry', 'nobody'])).code).toBe(2)
    expect((await vtcode(made, ['doctor', '--retry', 'user:throws'])).stdout).toMatch(/throws\.js of user:throws throws on import: on import/)
    await made.write('../home/tools/throws.js', modules.good)
    expect((await vtcode(made, ['doctor', '--retry', 'user:throws'])).stdout).not.toMatch(/on import|top-level await/)
  })

  it('leaves every other tool at work', async () => {
    await using made = await broken()
    expect((await vtcode(made, ['call', 'good'])).code).toBe(0)
    expect((await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])).code).toBe(0)
    expect(JSON.parse((await vtcode(made, ['call', 'throws'])).stdout)).toMatchObject({ ok: false, error: { code: 'VT_PLUGIN_IMPORT' } })
  })

  it('ends with 3 when a settings file is wrong, and names it', async () => {
    await using made = await tempWorkspace({ 'vtcode.config.yaml': 'nonsense: 1\n' })
    expect(await vtcode(made, ['doctor'])).toMatchObject({ code: 3, stderr: expect.stringContaining('vtcode.config.yaml') })
  })
})
