import { execFileSync, type ExecFileSyncOptionsWithStringEncoding } from 'node:child_process'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { symlinkSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createKernel,
  type Approval,
  type ApprovalAnswer,
  type CallOptions,
  type Kernel,
  type Mode,
  type Result,
} from 'vtcode'
import { bootKernel, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../../support/exec.js'
import { bin, surroundings, vtcode } from '../../../support/program.js'

/** Makes a kernel with an approver that counts questions and gives the configured answer. */
async function person(
  workspace: TempWorkspace,
  answer: ApprovalAnswer = { decision: 'allow', scope: 'always' },
  mode: Mode = 'auto',
  config = {},
) {
  const kernel: Kernel = await createKernel({
    workspace: workspace.root,
    home: workspace.home,
    mode,
    config: { sandbox: { mode: 'off' }, tools: { max_repeated_tool_calls: 0 }, ...config },
  })
  const asked: Approval[] = []
  const approve: CallOptions['approve'] = (request) => (asked.push(request), answer)
  const call = async (tool: string, input: object, session = 'main') => {
    const before = asked.length
    const result = await kernel.call(tool, input, { approve, session })
    return asked.length > before ? 'asked' : result.ok ? 'run' : result.error.code
  }
  return {
    kernel,
    asked,
    call,
    run: (command: unknown, more: object = {}, session?: string) =>
      call('unified_exec', { action: 'run', command, ...more }, session),
    [Symbol.asyncDispose]: () => kernel.close(),
  }
}

describe('approval for always', () => {
  it('remembers an approval by argv shape and folder, over sessions and programs, and no broader', async () => {
    await using workspace = await tempWorkspace({ 'sub/a': '' })
    {
      await using first = await person(workspace)
      expect(await first.run('git --version')).toBe('asked')
      expect(first.asked[0]).toMatchObject({ covers: "`git --version` in '.'" })
      for (const same of ['git --version', 'git   "--version"', ['git', '--version']])
        expect([same, await first.run(same)]).toEqual([same, 'run'])
      expect(await first.run('git --version', {}, 'another')).toBe('run')
    }
    await using later = await person(workspace)
    expect(await later.run('git --version')).toBe('run')
    for (const [command, more] of [
      ['git --versio'],
      ['git --version --help'],
      ['git --version; git --help'],
      ['git --version > x'],
      ['git --version', { workdir: 'sub' }],
      ['git --version', { env: { A: '1' } }],
      ['git --version', { tty: true }],
      ['git $X'],
    ] as [string, object?][]) {
      expect([command, more, await later.run(command, more)]).toEqual([command, more, 'asked'])
    }
  })

  it('stores approvals in a git-ignored file with the seal of this user for this folder', async () => {
    await using workspace = await tempWorkspace({})
    await using first = await person(workspace)
    await first.run('git --version')
    const folder = join(workspace.root, '.vtcode/approvals')
    const [name] = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    expect((await stat(join(folder, name!))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(folder, '.gitignore'), 'utf8')).toBe('*\n')
    // A checkout could carry the file to another workspace or another user.
    await using elsewhere = await tempWorkspace({})
    await mkdir(join(elsewhere.root, '.vtcode/approvals'), { recursive: true })
    await writeFile(join(elsewhere.root, '.vtcode/approvals', name!), await readFile(join(folder, name!)))
    await using stranger = await person(elsewhere)
    expect(await stranger.run('git --version')).toBe('asked')
    // One changed byte makes the file invalid.
    const text = await readFile(join(folder, name!), 'utf8')
    await writeFile(join(folder, name!), text.replace(/"seal": "./, '"seal": "g'))
    await using again = await person(workspace, false)
    expect(await again.run('git --version')).toBe('asked')
  })

  it('opens neither a denial nor an ask rule nor another mode', async () => {
    await using workspace = await tempWorkspace({})
    {
      await using first = await person(workspace)
      await first.run('git --version')
    }
    await using denied = await person(workspace, true, 'auto', { policy: { deny: ['Bash(git *)'] } })
    expect(await denied.run('git --version')).toBe('VT_POLICY_DENIED')
    await using asking = await person(workspace, true, 'auto', { policy: { ask: ['Bash(git *)'] } })
    expect(await asking.run('git --version')).toBe('asked')
    await using plan = await person(workspace, true, 'plan')
    expect(await plan.run('git --version')).toBe('VT_POLICY_DENIED')
  })
})

describe('lasting approval', () => {
  it('names the command that gets typed text and covers this start of it only', async () => {
    await using workspace = await tempWorkspace()
    await using one = await person(workspace)
    const start = (command: string) => one.run(command, { session_id: 'main', background: true, yield_time_ms: 250 })
    const type = (action: string) =>
      one.call('unified_exec', { action, session_id: 'main', input: 'yes\n', yield_time_ms: 50 })
    expect(await start('cat')).toBe('run')
    expect(await type('write')).toBe('asked')
    expect(one.asked.at(-1)).toMatchObject({
      question: expect.stringContaining("  The input goes to the running command `cat` in '.'.\n"),
      covers: "exactly this call of unified_exec/write, to `cat` in '.'",
    })
    expect(await type('write')).toBe('run')
    expect(await type('continue')).toBe('asked')
    await one.call('unified_exec', { action: 'close', session_id: 'main' })
    // The model chooses the id, so an approval covers neither another program nor a new start of the same one.
    for (const command of ['sort', 'cat']) {
      await start(command)
      expect([command, await type('write')]).toEqual([command, 'asked'])
      expect(one.asked.at(-1)!.question).toContain(`\`${command}\``)
      await one.call('unified_exec', { action: 'close', session_id: 'main' })
    }
  })
  it('covers what the question showed: every field that affects the run', async () => {
    await using workspace = await tempWorkspace({ 'sub/a': '' })
    await using made = await person(workspace)
    const call = { input: 'print(1)\n', env: { A: '1' }, tty: false }
    expect(await made.run('python3 -', call)).toBe('asked')
    expect(made.asked[0]!.covers).toBe('`python3 -` in \'.\' with env {"A":"1"}, input "print(1)\\n"')
    // Output format and timeouts are not part of the approval.
    for (const same of [{}, { timeout_secs: 20, max_output_tokens: 100 }, { session_id: 'x' }])
      expect([same, await made.run('python3 -', { ...call, ...same })]).toEqual([same, 'run'])
    for (const other of [
      { input: 'print(2)\n' },
      { input: undefined },
      { env: { A: '2' } },
      { env: {} },
      { workdir: 'sub' },
      { shell: 'sh' },
      { login: true },
      { background: true },
      { tty: true, yield_time_ms: 250 },
    ])
      expect([other, await made.run('python3 -', { ...call, ...other })]).toEqual([other, 'asked'])
    // The approval holds on disk too, and for a text that is too long for the question.
    await using later = await person(workspace)
    expect([
      await later.run('python3 -', call),
      await later.run('python3 -', { ...call, input: 'print(3)\n' }),
    ]).toEqual(['run', 'asked'])
    const long = `#${'x'.repeat(2000)}\n`
    expect([
      await later.run('python3 -', { input: long }),
      await later.run('python3 -', { input: long }),
      await later.run('python3 -', { input: `${long.slice(0, 900)}y${long.slice(901)}` }),
    ]).toEqual(['asked', 'run', 'asked'])
    expect(later.asked.at(-1)!.covers).toMatch(/input "#x+ … \(2005 characters, sha256 [0-9a-f]{16}\) … x+\\n"$/)
    // Up to 400 characters of JSON are shown whole.
    for (const [length, shown] of [
      [395, /with input "#x{395}\\n"$/],
      [396, /with input "#x{158} … \(401 characters, sha256 [0-9a-f]{16}\) … x{157}\\n"$/],
    ] as const) {
      await later.run('python3 -', { input: `#${'x'.repeat(length)}\n` })
      expect(later.asked.at(-1)!.covers).toMatch(shown)
    }
  })
})

describe('approval for the session', () => {
  it('covers no other stdin text, no surrounding construct and no redirected link', async () => {
    await using workspace = await tempWorkspace({ 'one/a': '', 'two/a': '' })
    await using made = await person(workspace, { decision: 'allow', scope: 'session' })
    const fed = (text: string) => `sort -u - <<'EOF'\n${text}\nEOF`
    expect([await made.run('sort -u -'), await made.run('sort -u -')]).toEqual(['asked', 'run'])
    for (const command of [
      fed('one'),
      fed('two'),
      'sort -u - <<< one',
      'sort -u - <<< two',
      'sort -u - &',
      'for i in 1 2; do sort -u -; done',
      '(sort -u -)',
      '! sort -u -',
      'time sort -u -',
      '{ sort -u -; }',
    ]) {
      expect([command, await made.run(command), await made.run(command)]).toEqual([command, 'asked', 'run'])
    }
    symlinkSync('one', join(workspace.root, 'd'))
    const inLink = () => made.run('touch made', { workdir: 'd' })
    expect([await inLink(), await inLink(), made.asked.at(-1)!.covers]).toEqual([
      'asked',
      'run',
      "`touch made` in 'd', 'd' leads to 'one'",
    ])
    await rm(join(workspace.root, 'd'))
    symlinkSync('two', join(workspace.root, 'd'))
    expect([await inLink(), await made.run('touch made', { workdir: 'one' })]).toEqual(['asked', 'asked'])
  })
  it('ends with the session, and a plain yes counts once', async () => {
    await using workspace = await tempWorkspace({})
    await using made = await person(workspace, { decision: 'allow', scope: 'session' })
    expect([
      await made.run('git --version'),
      await made.run('git --version'),
      await made.run('git --version', {}, 'other'),
    ]).toEqual(['asked', 'run', 'asked'])
    await using once = await person(workspace, true)
    expect([await once.run('git --version'), await once.run('git --version')]).toEqual(['asked', 'asked'])
    await using refused = await person(workspace, { decision: 'deny', scope: 'always' })
    expect(await refused.run('git --help')).toBe('asked')
    expect(await readdir(join(workspace.root, '.vtcode')).catch(() => [])).not.toContain('approvals')
  })

  it('covers all edits in the folder of an approved edit, and nothing else', async () => {
    await using workspace = await tempWorkspace({
      'src/a.js': 'a\n',
      'lib/b.js': 'b\n',
      root: 'x\n',
      'src/in/c.js': 'c\n',
    })
    symlinkSync('../lib/b.js', join(workspace.root, 'src/link.js'))
    symlinkSync('../lib', join(workspace.root, 'src/led'))
    await using made = await person(workspace, { decision: 'allow', scope: 'session' }, 'ask')
    const write = (path: string, content = 'y') =>
      made.call('unified_file', { action: 'write', path, content, mode: 'overwrite' })
    const patch = (text: string) => made.call('apply_patch', { input: `*** Begin Patch\n${text}\n*** End Patch` })
    expect([await write('src/a.js'), made.asked.at(-1)!.covers]).toEqual(['asked', "all edits in 'src/'"])
    for (const path of ['src/a.js', 'src/new.js', 'src/in/c.js'])
      expect([path, await write(path, 'z\n')]).toEqual([path, 'run'])
    expect(await patch('*** Update File: src/a.js\n@@\n-z\n+y')).toBe('run')
    // Other folders, links that lead there, removals and moves are asked about.
    for (const path of ['lib/b.js', 'src/link.js', 'src/led/new.js', 'srcs/a', 'root'])
      expect([path, await write(path)]).toEqual([path, 'asked'])
    expect(await patch('*** Delete File: src/new.js')).toBe('asked')
    expect(made.asked.at(-1)!.covers).toBeUndefined()
    expect(await patch('*** Update File: src/a.js\n*** Move to: src/b.js\n@@\n-y\n+x')).toBe('asked')
    // A patch with a mode, and each form in which a patch removes a file.
    const diff = (text: string) => made.call('apply_patch', { input: text })
    expect(await diff('diff --git a/src/a.js b/src/a.js\nold mode 100644\nnew mode 100755\n')).toBe('asked')
    for (const label of ['/dev/null', 'src/a.js\t1970-01-01 00:00:00.000000000 +0000', 'src/a.js\t(nonexistent)'])
      expect(await diff(`--- src/a.js\n+++ ${label}\n@@ -1 +0,0 @@\n-y\n`)).toBe('asked')
    expect(await made.call('unified_file', { action: 'delete', path: 'src/in', recursive: true })).toBe('asked')
    expect(await made.call('unified_file', { action: 'write', path: 'src/.envrc', content: 'x' })).toBe('asked')
    expect([await write('root', 'q'), await write('root2', 'q')]).toEqual(['run', 'asked'])
    expect(made.asked.at(-1)!.covers).toBe("all edits of 'root2'")
    expect(await made.call('unified_file', { action: 'write', path: 'src/x', content: 'x' }, 'another')).toBe('asked')
  })

  it('asks about an edit in an approved folder where a rule asks', async () => {
    await using workspace = await tempWorkspace({ 'src/a.js': 'a\n' })
    const config = { policy: { ask: ['Edit(/src/secret/**)'] } }
    await using made = await person(workspace, { decision: 'allow', scope: 'always' }, 'ask', config)
    const write = (path: string) => made.call('unified_file', { action: 'write', path, content: path })
    expect([await write('src/b.js'), await write('src/c.js')]).toEqual(['asked', 'run'])
    expect([await write('src/secret/a'), await write('src/secret/b')]).toEqual(['asked', 'asked'])
    await using later = await person(workspace, false, 'ask', config)
    const again = (path: string) => later.call('unified_file', { action: 'write', path, content: path })
    expect([await again('src/d.js'), await again('lib/d.js')]).toEqual(['run', 'asked'])
  })
})

describe('approval of a program tool', () => {
  it('asks for each call, and a yes for the session covers the shown argv shape', async () => {
    await using plugins = await tempWorkspace({
      'greet.yaml':
        "name: greet\ndescription: Greets.\nrun: [echo, '{name}']\ninput: { properties: { name: { type: string }, style: { enum: [loud, quiet] } }, required: [name] }\n",
    })
    await using booted = await bootKernel({ mode: 'auto', manifests: [plugins.root] })
    let asked: Approval[] = []
    let answer: ApprovalAnswer = true
    const greet = async (input: object): Promise<number> => {
      asked = []
      expect((await booted.call('greet', input, { approve: (request) => (asked.push(request), answer) })).ok).toBe(true)
      return asked.length
    }
    // A plain yes is one call, also for another text.
    for (const name of ['staging', 'production', 'production']) expect(await greet({ name })).toBe(1)
    answer = { decision: 'allow', scope: 'session' }
    expect(await greet({ name: 'a' })).toBe(1)
    expect(asked[0]!.covers).toBe('greet (echo) with name=…, … being any text')
    expect(await greet({ name: 'b' })).toBe(0)
    expect(await greet({ name: 'b', style: 'loud' })).toBe(1)
    expect(await greet({ name: 'c', style: 'loud' })).toBe(0)
    expect(await greet({ name: 'c', style: 'quiet' })).toBe(1)
  })
})

describe('approval questions', () => {
  const command = async (
    made: TempWorkspace,
    text: string,
    steps?: [seen: string, keys: string][],
  ): Promise<{ screen: string; result: Result }> => {
    const words = ['--mode', 'ask', 'call', 'unified_exec', '--input', JSON.stringify({ action: 'run', command: text })]
    if (!steps) return { screen: '', result: JSON.parse((await vtcode(made, words)).stdout) as Result }
    const how: ExecFileSyncOptionsWithStringEncoding = {
      cwd: made.root,
      encoding: 'utf8',
      env: surroundings(made),
      stdio: ['ignore', 'pipe', 'ignore'],
    }
    const said = JSON.parse(
      execFileSync(
        'python3',
        [
          new URL('../../../fixtures/answer.py', import.meta.url).pathname,
          JSON.stringify(steps),
          process.execPath,
          bin,
          ...words,
        ],
        how,
      ),
    ) as { screen: string; stdout: string }
    return { screen: said.screen, result: JSON.parse(said.stdout) as Result }
  }
  const codeOf = ({ result }: { result: Result }): string => (result.ok ? 'ok' : result.error.code)

  it('shows at a terminal what "always" would cover and asks again for everything else', async () => {
    await using made = await tempWorkspace()
    const once = await command(made, 'touch made', [['[y/N/session/always]', 'y\r']])
    expect([codeOf(once), once.screen]).toEqual([
      'ok',
      expect.stringContaining("session or always, as a whole word, also allows: `touch made` in '.'"),
    ])
    for (const keys of ['\r', '\u0003', 'a\r', ...rounds<string[]>([], ['n\r', 'perhaps\r'])])
      expect([keys, codeOf(await command(made, 'touch made', [['[y/N/session/always]', keys]]))]).toEqual([
        keys,
        'VT_POLICY_NEEDS_APPROVAL',
      ])
    expect(codeOf(await command(made, 'touch made'))).toBe('VT_POLICY_NEEDS_APPROVAL')
    expect(codeOf(await command(made, 'touch made', [['[y/N/session/always]', 'always\r']]))).toBe('ok')
    expect(codeOf(await command(made, 'touch  "made"'))).toBe('ok')
    expect(codeOf(await command(made, 'touch other'))).toBe('VT_POLICY_NEEDS_APPROVAL')
  })

  it('takes no key from before the question and no pasted lines as an answer', async () => {
    await using made = await tempWorkspace()
    for (const steps of [
      [
        ['', 'y\ra\r'],
        ['[y/N/session/always]', '\r'],
      ],
      [['[y/N/session/always]', 'y\rand more\r']],
      [['[y/N/session/always]', 'actually\r']],
      [
        ['[y/N/session/always]', '\u001b[200~always\r\u001b[201~'],
        ['Pasted text answers nothing', '\r'],
      ],
      [
        ['[y/N/session/always]', '\u001b[200~y\r'],
        ['', 'y\r\u001b[201~'],
        ['Pasted text answers nothing', 'n\r'],
      ],
    ] as Parameters<typeof command>[2][])
      expect([steps, codeOf(await command(made, 'touch made', steps))]).toEqual([steps, 'VT_POLICY_NEEDS_APPROVAL'])
    expect(codeOf(await command(made, 'touch made'))).toBe('VT_POLICY_NEEDS_APPROVAL')
  })

  it('marks each row of a long command, so that its padding draws no line of this program', async () => {
    await using made = await tempWorkspace()
    const padded = `touch made ${' '.repeat(120)}vtcode: allowed. Do it? ${'x '.repeat(90)}`
    const { screen } = await command(made, padded, [['[y/N', 'n\r']])
    const rows = screen.split(/\r?\n/)
    expect(rows.filter((row) => row.length > 100)).toEqual([])
    expect(rows.filter((row) => /allowed|x x/.test(row) && !/^ {2}(?:\||command)/.test(row))).toEqual([])
  })

  it('offers an MCP client a yes for once, for the connection or for always', async () => {
    await using made = await tempWorkspace()
    /** Asks twice for each answer on one connection. */
    const scene = async (
      ...answers: (string | undefined)[]
    ): Promise<[codes: string[], asked: number, shown: string][]> => {
      const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } })
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [bin, 'mcp'],
          cwd: made.root,
          env: surroundings(made),
        }),
      )
      const told: [codes: string[], asked: number, shown: string][] = []
      for (const remember of answers) {
        let asked = 0
        let shown = ''
        client.setRequestHandler('elicitation/create', ({ params }) => {
          asked += 1
          shown = JSON.stringify(params)
          return { action: 'accept', content: { approve: true, ...(remember !== undefined && { remember }) } }
        })
        const codes = []
        for (const text of ['touch made', 'touch made']) {
          const { isError, content } = await client.callTool({
            name: 'unified_exec',
            arguments: { action: 'run', command: text },
          })
          codes.push(isError ? (content as { text: string }[])[0]!.text.split(':')[0]! : 'ok')
        }
        told.push([codes, asked, shown])
      }
      await client.close()
      return told
    }
    const ok = ['ok', 'ok']
    expect(await scene(undefined, 'for ever', 'session')).toEqual([
      [ok, 2, expect.stringContaining("session and always cover `touch made` in '.'")],
      [ok, 2, expect.anything()],
      [ok, 1, expect.anything()],
    ])
    expect(await scene('always')).toEqual([[ok, 1, expect.anything()]])
    expect(await scene(undefined)).toEqual([[ok, 0, '']])
  })
})
