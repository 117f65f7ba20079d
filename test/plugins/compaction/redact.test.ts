import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type TempWorkspace } from 'vtcode/test'

let plugins: TempWorkspace
beforeAll(async () => {
  plugins = await tempWorkspace({
    'say.yaml':
      'name: say\neffects: [read]\ndescription: Says it.\nerrors: { SAY_NO: { message: No. } }\ninput: { properties: { text: { type: string }, fail: { type: boolean } } }\nmodule: ./say.js\n',
    'say.js': `export default ({ input: { text, fail } }) => fail
  ? { ok: false, error: { code: 'SAY_NO', message: 'No ' + text, details: { deep: [text] } } }
  : { ok: true, output: { deep: [{ text }], same: 'x' }, text }\n`,
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

// Built from parts, so that no scanner reports this file as a leak.
const letters = (count: number): string => 'aB3'.repeat(count).slice(0, count)
const secrets: [name: string, secret: string][] = [
  ['aws_key', `AKIA${'ABCD1234'.repeat(2)}`],
  ['github_token', `ghp_${letters(36)}`],
  ['github_token', `github_pat_${letters(40)}`],
  ['gitlab_token', `glpat-${letters(20)}`],
  ['api_key', `sk-ant-api03-${letters(40)}`],
  ['api_key', `sk-CANARY-${letters(20)}`],
  ['slack_token', `xoxb-${letters(24)}`],
  ['google_key', `AIza${letters(35)}`],
  ['stripe_key', `sk_live_${letters(24)}`],
  ['npm_token', `npm_${letters(36)}`],
  ['json_web_token', `eyJ${letters(20)}.eyJ${letters(20)}.${letters(20)}`],
  ['private_key', `-----BEGIN RSA PRIVATE KEY-----\n${letters(60)}\n-----END RSA PRIVATE KEY-----`],
]

describe('redact', () => {
  it.each(secrets)('replaces a %s in text, output and errors and keeps the surrounding text', async (name, secret) => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    const text = `key = "${secret}"; rest`
    const clean = `key = "[redacted:${name}]"; rest`
    expect(await booted.call('say', { text })).toEqual({
      ok: true,
      output: { deep: [{ text: clean }], same: 'x' },
      text: clean,
    })
    const failed = await booted.call('say', { text, fail: true })
    expect(JSON.stringify(failed)).not.toContain(secret.slice(0, 20))
  })

  it('replaces a key whose end was cut off', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('say', { text: `a\n-----BEGIN PRIVATE KEY-----\n${letters(40)}` })).toMatchObject({
      text: 'a\n[redacted:private_key]',
    })
  })

  it('replaces the values of environment variables whose names mark them as secret', async () => {
    const script = `
      import { bootKernel } from 'vtcode/test'
      const booted = await bootKernel({ manifests: [${JSON.stringify(plugins.root)}] })
      console.log(JSON.stringify(await booted.call('say', { text: 'the value is hunter2hunter2hunter2.' })))
      await booted[Symbol.asyncDispose]()`
    const env = { ...process.env, ACME_PASSWORD: 'hunter2hunter2hunter2' }
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' })
    expect(JSON.parse(printed)).toMatchObject({ ok: true, text: 'the value is [redacted:ACME_PASSWORD].' })
  })

  it.each([
    'class="sk-loading-container-extra-large"',
    'sk-short',
    'AKIA',
    'npm_config_cache',
    'eyJhbGciOi',
    'ghp_',
    'const task_live_update = 1',
    '-----BEGIN CERTIFICATE-----\nx',
  ])('leaves %s unchanged', async (text) => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('say', { text })).toMatchObject({ text })
  })

  it('skips redaction when the settings of the user switch it off', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root], config: { output: { redact: false } } })
    expect(await booted.call('say', { text: secrets[0]![1] })).toMatchObject({ text: secrets[0]![1] })
  })

  it('redacts secrets before a text is written to a spool file', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    const secret = secrets[1]![1]
    const result = await booted.call('say', { text: `${'x\n'.repeat(5000)}${secret}\n${'y\n'.repeat(5000)}` })
    const path = result.ok ? /\.vtcode\/spool\/[\w-]+\.txt/.exec(result.text!)![0] : ''
    expect(await booted.read(path)).not.toContain(secret)
  })
})
