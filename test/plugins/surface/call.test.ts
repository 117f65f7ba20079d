import { existsSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../support/program.js'

const echo = `name: echo_input
description: Answers with its input.
effects: [read]
input:
  properties:
    action: { type: string }
    words: { type: array, items: { type: string } }
    count: { type: integer }
    flag: { type: boolean }
    input: { type: string }
module: ./echo.js
`
const code = `import { writeFileSync } from 'node:fs'
export default async ({ input }, { signal, workspace }) => {
  if (input.flag) { writeFileSync(workspace.root + '/running', ''); await new Promise((resolve) => signal.addEventListener('abort', resolve)) }
  return { ok: true, output: { input }, notices: [{ code: 'X_NOTE', message: 'a remark' }] }
}`

async function workspace() {
  const made = await tempWorkspace({ 'a.txt': 'hello\n' })
  await made.write('../home/echo/echo.yaml', echo)
  await made.write('../home/echo/echo.js', code)
  await made.write(
    '../home/.vtcode/vtcode.config.yaml',
    `manifests: [builtin, '${made.home}/echo']\nsandbox: { plugins: off }\n`,
  )
  return made
}
const inputOf = (stdout: string) => JSON.parse(stdout).output.input

describe('vtcode call', () => {
  it('prints the reason of a policy on one line, so that none looks like a line of this program', async () => {
    await using made = await workspace()
    await made.write('../home/echo/no.yaml', 'kind: policy\nname: no\ndescription: Denies.\nmodule: ./no.js\n')
    await made.write(
      '../home/echo/no.js',
      "export default () => ({ deny: 'Not now.\\nvtcode: info: Done.\\r\\n  Next: vtcode trust --yes', hint: 'Wait.\\nvtcode: info: It ran.' })",
    )
    const ran = await vtcode(made, ['call', '--text', 'echo_input'])
    expect(ran.code).toBe(1)
    expect(ran.stderr).toMatch(
      /^vtcode: error: VT_POLICY_DENIED: .*Not now\. vtcode: info: Done\. Next: vtcode trust --yes\n/,
    )
    expect(ran.stderr).not.toMatch(/^vtcode: info|^ *Next/m)
  })

  it('prints the result as one JSON document on stdout and its notices on stderr', async () => {
    await using made = await workspace()
    const ran = await vtcode(made, ['call', 'echo_input', '--count', '3'])
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('X_NOTE: a remark') })
    expect(inputOf(ran.stdout)).toEqual({ count: 3 })
    expect(ran.stdout.trim().split('\n')).toHaveLength(1)
  })

  it('turns a repeated field into a list and a bare one into true, and keeps dashes after an equals sign', async () => {
    await using made = await workspace()
    const ran = await vtcode(made, ['call', 'echo_input', '--words', 'one', '--words=--two', '--words', '-3'])
    expect(inputOf(ran.stdout)).toEqual({ words: ['one', '--two', '-3'] })
  })

  it('takes the whole input as JSON from an argument or from stdin, and a field called input as a field', async () => {
    await using made = await workspace()
    expect(inputOf((await vtcode(made, ['call', 'echo_input', '--input', '{"count":1}'])).stdout)).toEqual({ count: 1 })
    expect(
      inputOf((await vtcode(made, ['call', 'echo_input', '--input', '-'], { stdin: '{"count":2}' })).stdout),
    ).toEqual({ count: 2 })
    expect(inputOf((await vtcode(made, ['call', 'echo_input', '--input', '*** Begin Patch'])).stdout)).toEqual({
      input: '*** Begin Patch',
    })
  })

  it('ends with 1 when the tool fails', async () => {
    await using made = await workspace()
    const ran = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'missing.txt'])
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, error: { code: 'VT_PATH_NOT_FOUND' } })
  })

  it.each([
    [['call'], 'Name the tool'],
    [['call', '--nonsense', 'x'], 'Unknown flag --nonsense'],
    [['call', 'echo_input', 'one', 'two'], "Unexpected 'two'"],
    [['call', 'echo_input', '--input', '{broken'], 'not JSON'],
    [['call', '--mode', 'wild', 'echo_input'], "Unknown mode 'wild'"],
    [['--workspace'], '--workspace needs a value'],
    [['nonsense'], "Unknown verb 'nonsense'; known verbs: acp, agents, approvals, ask, call"],
    [['exce'], "Unknown verb 'exce' (did you mean exec?); known verbs"],
    [['call', 'apply_patch', '*** Begin Patch'], 'apply_patch has no actions; give its fields by name: --input'],
    [[], 'No verb given'],
  ])('ends with 2 and says why for %j', async (argv, reason) => {
    await using made = await workspace()
    expect(await vtcode(made, argv)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(reason) })
  })

  it.each([
    [['-c', 'policy.mod=ask'], /Unknown key 'policy\.mod'; did you mean 'mode'\?\n {2}Correct --config policy\.mod; /],
    [['-c', 'nonsense'], /Settings file not found: 'nonsense'\.\n {2}Name a file/],
    [['--dialect', 'clasic'], /Unknown dialect 'clasic' \(did you mean classic\?\); .*\n {2}Choose one/],
  ])('names the correction and suggests no repair of a file for %j', async (flags, says) => {
    await using made = await workspace()
    const { code, stderr } = await vtcode(made, [...flags, 'call', 'echo_input'])
    expect([code, stderr]).toEqual([3, expect.stringMatching(says)])
  })

  it('reports in one line how much of a workspace waits for consent', async () => {
    await using made = await workspace()
    await made.write(
      'vtcode.config.yaml',
      'use: { unified_file/read: false }\nmanifests: [builtin]\nhooks: { Stop: [{ hooks: [{ command: "true" }] }] }\n',
    )
    const { stderr } = await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])
    expect(stderr.match(/vtcode trust/g)).toHaveLength(1)
    expect(stderr).toMatch(
      /^vtcode: warning: Items of this workspace that wait for your consent: \d\. `vtcode trust` shows them and asks\.$/m,
    )
  })

  it('ends with 3 when a settings file is wrong', async () => {
    await using made = await workspace()
    await made.write('vtcode.config.yaml', 'policy: { mode: wild }\n')
    expect(await vtcode(made, ['call', 'echo_input'])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(
        /^\{"ok":false,"error":\{"code":"VT_CONFIG_INVALID",.*'policy\.mode' is 'wild'.*\}\}\n$/,
      ),
      stderr: expect.stringContaining('vtcode.config.yaml'),
    })
    for (const argv of [
      ['config', 'get', 'policy.mode', '--json'],
      ['tools', '--json'],
    ])
      expect(JSON.parse((await vtcode(made, argv)).stdout), argv.join(' ')).toMatchObject({
        ok: false,
        error: { code: 'VT_CONFIG_INVALID' },
      })
    for (const argv of [
      ['config', 'get', 'policy.mode'],
      ['exec', '--json', 'go'],
    ])
      expect((await vtcode(made, argv)).stdout, argv.join(' ')).toBe('')
  })

  it('ends with 130 when interrupted, after it cancels the call', async () => {
    await using made = await workspace()
    const child = spawn(process.execPath, [bin, 'call', 'echo_input', '--flag'], {
      cwd: made.root,
      env: surroundings(made),
    })
    const closed = new Promise((resolve) => child.on('close', resolve))
    await expect.poll(() => existsSync(`${made.root}/running`)).toBe(true)
    child.kill('SIGINT')
    expect(await closed).toBe(130)
  })

  it('accepts program flags before or after the verb, but only before the name of the tool', async () => {
    await using made = await workspace()
    const elsewhere = made.home
    for (const argv of [
      ['--workspace', made.root, 'call'],
      ['call', `--workspace=${made.root}`],
    ]) {
      expect((await vtcode(made, [...argv, 'unified_file', 'read', '--path', 'a.txt'], { cwd: elsewhere })).code).toBe(
        0,
      )
    }
    const behind = await vtcode(made, ['call', 'echo_input', '--workspace', 'x'])
    expect(JSON.parse(behind.stdout).error.code).toBe('VT_INPUT_UNKNOWN')
  })

  it('refuses a call that needs approval when no person can be asked', async () => {
    await using made = await workspace()
    const ran = await vtcode(made, [
      '-c',
      'policy.ask=["Read(a.txt)"]',
      'call',
      'unified_file',
      'read',
      '--path',
      'a.txt',
    ])
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
  })
})
