import { cp } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode, type Ran } from '../../support/program.js'

const settings = `policy:
  allow: ['Bash(make test *)']
  ask: [{ rule: 'Bash(git push *)', reason: Leaves this machine. }]
  deny:
    - { rule: 'Bash(rm -rf *)', reason: Use unified_file delete., match: ['rm -rf build', 'env X=1 rm -rf /'], not_match: ['rm a.txt', 'grep "rm -rf" x'] }
`
/** The program on a fresh workspace, with settings of the user. */
async function runProgram(
  files: Record<string, string>,
): Promise<AsyncDisposable & { workspace: TempWorkspace; run(argv: string[]): Promise<Ran> }> {
  const workspace = await tempWorkspace({})
  for (const [name, text] of Object.entries(files)) await workspace.write(`../home/.vtcode/${name}`, text)
  return {
    workspace,
    run: (argv) => vtcode(workspace, argv),
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  }
}

const home = { 'vtcode.config.yaml': settings }

describe('vtcode policy explain', () => {
  it('names the rule that decides each part of a command line, and runs nothing', async () => {
    await using program = await runProgram(home)
    const { code, stdout } = await program.run([
      '--mode',
      'auto',
      'policy',
      'explain',
      '--json',
      'touch made; ls | env sudo rm -rf / && git push origin $X',
    ])
    const told = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(told).toMatchObject({
      verdict: 'deny',
      mode: 'auto',
      decided_by: 'builtin:permission',
      reason: 'Use unified_file delete.',
      call: { slot: 'unified_exec/run' },
    })
    const { commands } = told.chain.find(({ policy }: { policy: string }) => policy === 'builtin:permission').notes[0]
    expect(
      commands.map(({ argv, verdict, rule }: Record<string, unknown>) => [(argv as string[]).join(' '), verdict, rule]),
    ).toEqual([
      ['touch made', 'ask', undefined],
      ['ls', 'run', 'only reads'],
      ['env sudo rm -rf /', 'ask', undefined],
      ['sudo rm -rf /', 'ask', undefined],
      ['rm -rf /', 'deny', 'Bash(rm -rf *)'],
      ['git push origin $X', 'ask', 'Bash(git push *)'],
    ])
    expect(commands[4]).toMatchObject({ layer: 'user', file: expect.stringMatching(/vtcode\.config\.yaml:5$/) })
    expect(await program.workspace.read('made')).toBeUndefined()
  })

  it('explains any tool, asks every policy, and names the error of an invalid call', async () => {
    await using program = await runProgram(home)
    const told = async (...words: string[]) =>
      JSON.parse((await program.run(['policy', 'explain', '--json', ...words])).stdout)
    expect(await told('unified_file', 'read', '--path', 'x')).toMatchObject({ verdict: 'run' })
    const written = await told('unified_file', 'write', '--path', '.git/config', '--content', 'x')
    expect(written).toMatchObject({ verdict: 'deny', decided_by: 'builtin:protected_paths' })
    expect(written.chain.map(({ verdict }: { verdict: string }) => verdict)).toContain('ask')
    expect(await told('unified_file', 'read', '--pth', 'x')).toMatchObject({
      verdict: 'refused',
      reason: expect.stringContaining('pth'),
    })
    expect(await program.workspace.read('.git/config')).toBeUndefined()
  })

  it('prints a readable explanation', async () => {
    await using program = await runProgram(home)
    const { stdout } = await program.run(['policy', 'explain', 'make test all'])
    expect(stdout).toMatch(
      /^run {2}unified_exec\/run in mode ask\nprograms in it\n {2}make test all {2}(allow {2}Bash\(make test \*\)|ask)/,
    )
  })
})

describe('vtcode policy list and test', () => {
  it('shows every rule with its file and line, and tries the examples', async () => {
    await using program = await runProgram(home)
    expect((await program.run(['policy', 'list'])).stdout).toMatch(/deny +Bash\(rm -rf \*\) +\S*vtcode\.config\.yaml:5/)
    expect(JSON.parse((await program.run(['policy', 'list', '--json'])).stdout)).toMatchObject({
      mode: 'ask',
      rules: [{ verdict: 'allow' }, { verdict: 'ask' }, { verdict: 'deny', layer: 'user' }],
    })
    expect(await program.run(['policy', 'test'])).toMatchObject({
      code: 0,
      stdout: '3 rules pass their 4 examples.\n',
    })
  })

  it('fails when a rule contradicts its example', async () => {
    await using program = await runProgram({
      'vtcode.config.yaml': "policy: { deny: [{ rule: 'Bash(rm *)', not_match: ['rm a'] }] }\n",
    })
    const { code, stderr } = await program.run(['policy', 'test'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/Bash\(rm \*\)' matches its example "rm a" under not_match/)
  })

  it.each([[['policy', 'explane']], [['policy', 'explain']]])('rejects %j as a usage error', async (argv) => {
    await using program = await runProgram({})
    expect((await program.run(argv)).code).toBe(2)
  })
})

describe('vtcode policy suggest', () => {
  it('suggests rules that would have avoided a question, none broader than the call', async () => {
    await using made = await tempWorkspace({ 'a.txt': '' })
    const kernel = await createKernel({
      workspace: made.root,
      home: made.home,
      env: { PATH: process.env.PATH! },
      mode: 'ask',
      config: { sandbox: { mode: 'off' }, tools: { max_repeated_tool_calls: 0 } },
    })
    const call = (tool: string, input: object, yes: boolean) => kernel.call(tool, input, { approve: () => yes })
    for (const yes of [true, true, false]) await call('unified_exec', { action: 'run', command: 'touch  "made"' }, yes)
    for (const command of ['touch $X', 'touch a; touch b', 'touch x > y', 'X=1 touch z', 'cat a.txt'])
      await call('unified_exec', { action: 'run', command }, false)
    await call('unified_exec', { action: 'run', command: 'touch here', workdir: '.', env: { A: '1' } }, false)
    await call('unified_file', { action: 'write', path: 'src/a.ts', content: '' }, true)
    await call('unified_search', { action: 'web', url: 'https://docs.example.org/x' }, false)
    await kernel.close()
    const { suggestions } = JSON.parse((await vtcode(made, ['policy', 'suggest', '--json'])).stdout)
    expect(suggestions).toEqual([
      { rule: 'Bash(touch made)', asked: 3, agreed: 2 },
      { rule: 'Edit(/src/a.ts)', asked: 1, agreed: 1 },
      { rule: 'WebFetch(domain:docs.example.org)', asked: 1, agreed: 0 },
    ])
    const { stdout } = await vtcode(made, ['policy', 'suggest'])
    await made.write('../home/.vtcode/vtcode.config.yaml', stdout)
    expect((await vtcode(made, ['policy', 'suggest'])).stdout).toContain('No recorded question')
    expect(JSON.parse((await vtcode(made, ['policy', 'explain', '--json', 'touch made'])).stdout)).toMatchObject({
      verdict: 'run',
    })
  })
})

describe('vtcode policy explain --json', () => {
  it('suggests the rule that saves a question, and none where no rule decides', async () => {
    await using made = await tempWorkspace({ '.envrc': '' })
    const explain = async (...words: string[]) =>
      JSON.parse((await vtcode(made, ['policy', 'explain', '--json', ...words])).stdout)
    for (const [words, suggestions] of [
      [['touch made'], ['Bash(touch made)']],
      [['web_search', '--query', 'x'], ['WebSearch']],
      [['rm -rf $HOME/x'], []],
      [['unified_file', 'read', '--path', '.envrc'], []],
      [['unified_file', 'write', '--path', '.envrc', '--content', 'x', '--overwrite'], []],
    ] as const)
      expect((await explain(...words)).suggestions, words.join(' ')).toEqual(suggestions)
    const { suggestions } = await explain('touch made')
    await made.write('../home/.vtcode/vtcode.config.yaml', JSON.stringify({ policy: { allow: suggestions } }))
    expect(await explain('touch made')).toMatchObject({ verdict: 'run', suggestions: [] })
  })
})

describe('vtcode policy adopt', () => {
  it('adopts what the workspace allows, rule by rule, for this workspace only', async () => {
    await using made = await tempWorkspace({
      'vtcode.config.yaml': "policy: { allow: ['Bash(touch made)', 'Bash(rm *)'] }\n",
    })
    const explained = async (command: string, place: TempWorkspace = made): Promise<string> =>
      JSON.parse((await vtcode(place, ['policy', 'explain', '--json', command])).stdout).verdict
    expect(await explained('touch made')).toBe('ask')
    expect(await vtcode(made, ['policy', 'adopt'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Bash(rm *)'),
    })
    expect(await vtcode(made, ['policy', 'adopt', 'Bash(*)'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No allow rule'),
    })
    expect((await vtcode(made, ['policy', 'adopt', 'Bash(touch made)'], { env: { VTCODE: '1' } })).code).not.toBe(0)
    expect(await explained('touch made')).toBe('ask')
    expect(await vtcode(made, ['policy', 'adopt', 'Bash(touch made)'])).toMatchObject({
      code: 0,
      stdout: 'Allowed here: Bash(touch made)\n',
    })
    expect([await explained('touch made'), await explained('rm x')]).toEqual(['run', 'ask'])
    await using other = await tempWorkspace()
    await other.write('../home/.vtcode/x', '')
    await cp(`${made.home}/.vtcode`, `${other.home}/.vtcode`, { recursive: true })
    expect(await explained('touch made', other)).toBe('ask')
  })
})
