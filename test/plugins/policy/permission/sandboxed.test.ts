import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Boot } from 'vtcode/test'
import type { Approval, Config, Mode } from 'vtcode'
import { call, error, lacks, output, eventually } from '../../../support/exec.js'
import { call as asked, home, startPeer, vtcode as agent } from '../../../support/peer.js'
import { bin, surroundings, vtcode } from '../../../support/program.js'

// With `policy.sandboxed_commands: allow`, a command that needs approval runs in the strict sandbox instead.
const none = lacks('bwrap')
const skipped = none ? ' (SKIPPED: needs bwrap)' : ''
const make = { action: 'run', command: 'make' }
const files = { Makefile: 'all:\n\techo changed > a.txt\n\techo new > b.txt\n', 'a.txt': 'first\n' }
const boot = (policy: NonNullable<Config['policy']>, how: Boot = {}) =>
  bootKernel({ files, ...how, config: { policy, ...how.config } })
const allow: NonNullable<Config['policy']> = { sandboxed_commands: 'allow' }
const settings = 'policy: { sandboxed_commands: allow }\n'
const needs = { code: 'VT_POLICY_NEEDS_APPROVAL' }

describe.skipIf(none)(`policy.sandboxed_commands: allow${skipped}`, () => {
  it.each<[Mode]>([['ask'], ['auto']])(
    'runs a command unasked in mode %s, reports that, and can take its changes back',
    async (mode) => {
      await using booted = await boot(allow, { mode })
      const result = await call(booted, make)
      expect(result).toMatchObject({
        ok: true,
        output: {
          exit_code: 0,
          checkpoint: {
            files: 2,
            complete: true,
            changed: [
              { path: 'a.txt', kind: 'update' },
              { path: 'b.txt', kind: 'add' },
            ],
          },
        },
      })
      expect(result).toMatchObject({
        notices: [
          {
            code: 'VT_EXEC_SANDBOXED',
            message: expect.stringMatching(
              /^The command ran without approval .*in the sandbox, without network.* 2 files copied before it; it changed a\.txt, b\.txt, which `vtcode undo` can restore\.$/,
            ),
          },
        ],
      })
      expect(await booted.read('a.txt')).toBe('changed\n')
      const undone = await vtcode(booted, ['undo'])
      expect(undone).toMatchObject({ code: 0 })
      expect(await booted.read('a.txt')).toBe('first\n')
      expect(existsSync(join(booted.root, 'b.txt'))).toBe(false)
    },
  )

  it('explains the strict sandbox for a command and the usual one for a read-only command', async () => {
    await using booted = await boot(allow, { mode: 'auto' })
    const explain = (command: string) => booted.kernel.explain('unified_exec', { action: 'run', command })
    expect(await explain('make')).toMatchObject({ verdict: 'run', sandbox: 'strict' })
    expect(await explain('ls')).toMatchObject({ verdict: 'run', sandbox: 'usual' })
  })

  it('asks without an offer of the sandbox when a rule may match what the text hides', async () => {
    for (const rule of ['Bash(rm *)', 'Edit(/keep/**)']) {
      const command = rule.startsWith('Bash') ? 'X=rm; $X a.txt' : 'X=keep/a; echo x > $X'
      for (const policy of [{ ...allow, deny: [rule] }, { deny: [rule] }]) {
        await using booted = await boot(policy, { mode: 'auto' })
        const problem = await error(booted, { action: 'run', command })
        expect([command, problem]).toMatchObject([command, needs])
        expect(problem.hint).not.toContain('sandboxed_commands')
      }
      await using open = await boot(allow, { mode: 'auto' })
      expect(await open.kernel.explain('unified_exec', { action: 'run', command })).toMatchObject({
        verdict: 'run',
        sandbox: 'strict',
      })
    }
  })

  it('runs in the strict sandbox when another policy asks too, and explains that', async () => {
    await using asking = await tempWorkspace({
      'asks.yaml': 'name: asks\nkind: policy\nslots: [unified_exec/run]\nmodule: ./asks.js\n',
      'asks.js': "export default () => ({ ask: 'Should this run?' })\n",
    })
    await using booted = await boot(allow, { mode: 'auto', manifests: [asking.root] })
    expect(await booted.kernel.explain('unified_exec', { action: 'run', command: 'make' })).toMatchObject({
      verdict: 'ask',
      sandbox: 'strict',
      reason: 'Should this run?',
    })
    expect(await booted.kernel.call('unified_exec', make, { approve: () => true })).toMatchObject({
      ok: true,
      notices: [{ code: 'VT_EXEC_SANDBOXED' }],
    })
  })

  it('denies a command for a plugin policy that answers with a sandbox and nothing else', async () => {
    await using loose = await tempWorkspace({
      'loose.yaml': 'name: loose\nkind: policy\nslots: [unified_exec/run]\nmodule: ./loose.js\n',
      'loose.js': "export default () => ({ sandbox: 'usual' })\n",
    })
    await using booted = await boot(allow, { mode: 'auto', manifests: [loose.root] })
    expect(await error(booted, make)).toMatchObject({
      code: 'VT_POLICY_DENIED',
      message: expect.stringContaining('call:loose returned an invalid verdict'),
    })
  })

  it('refuses to run when the sandbox disappears between check and run, and reports that', async () => {
    const tools = mkdtempSync(join(tmpdir(), 'tools-'))
    const path = process.env['PATH']
    for (const name of ['bwrap', 'prlimit', 'env', 'sh', 'make'])
      symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(tools, name))
    await using gone = await tempWorkspace({
      'gone.yaml': 'name: gone\nkind: policy\nslots: [unified_exec/run]\norder: 100\nmodule: ./gone.js\n',
      'gone.js': `import { rmSync } from 'node:fs'\nexport default () => rmSync('${tools}/bwrap')\n`,
    })
    try {
      process.env['PATH'] = tools
      await using booted = await boot(allow, { mode: 'auto', manifests: [gone.root] })
      expect(await error(booted, make)).toMatchObject({
        code: 'VT_EXEC_SANDBOX',
        message: expect.stringContaining('bubblewrap (bwrap) is not installed'),
      })
      expect(await booted.read('a.txt')).toBe('first\n')
    } finally {
      process.env['PATH'] = path
      rmSync(tools, { recursive: true })
    }
  })

  it('runs without network, sockets or outside writes, whatever else the settings open', async () => {
    await using beside = await tempWorkspace({ 'tool.txt': 'tool\n' })
    const socket = join(beside.root, 'server.sock')
    const server = createServer((connection) => connection.end('secret\n')).listen(socket)
    try {
      const sandbox: NonNullable<Config['sandbox']> = {
        network: true,
        writable: [beside.root],
        readable: [beside.root],
      }
      await using booted = await boot(allow, { mode: 'auto', config: { sandbox } })
      const script =
        `import fs from 'node:fs'\nimport net from 'node:net'\nconst tried = (what) => { try { return what() } catch (error) { return error.code } }\n` +
        `console.log(tried(() => fs.writeFileSync('${beside.root}/x', '')), Object.keys((await import('node:os')).networkInterfaces()).filter((name) => name !== 'lo').length)\n` +
        `net.connect('${socket}').on('data', (data) => console.log(String(data))).on('error', (error) => console.log(error.code))\n`
      await booted.write('look.mjs', script)
      expect((await output(booted, { action: 'run', command: 'node look.mjs' })).stdout).toMatch(
        /^(EROFS|ENOENT|EACCES) 0\n(ECONNREFUSED|ENOENT|EACCES|ENOTSOCK)\n$/,
      )
      expect(existsSync(join(beside.root, 'x'))).toBe(false)
      // Control: without the strict sandbox the same settings open all of these.
      await using open = await boot({ allow: ['Bash(node *)'] }, { mode: 'auto', config: { sandbox } })
      await open.write('look.mjs', script)
      expect((await output(open, { action: 'run', command: 'node look.mjs' })).stdout).toMatch(
        /^undefined \d+\nsecret\n/,
      )
    } finally {
      server.close()
      rmSync(socket, { force: true })
    }
  })

  it('asks for other sandboxes and for ask rules, and denies by a rule or the mode', async () => {
    await using booted = await boot({ ...allow, ask: ['Bash(make slow)'], deny: ['Bash(make bad)'] }, { mode: 'auto' })
    expect(await error(booted, { ...make, sandbox_permissions: 'use_default' })).toMatchObject(needs)
    expect(
      await error(booted, { ...make, sandbox_permissions: 'require_escalated', justification: 'to see' }),
    ).toMatchObject(needs)
    expect(await error(booted, { ...make, command: 'make slow' })).toMatchObject({
      ...needs,
      message: expect.stringContaining('Bash(make slow)'),
    })
    expect(await error(booted, { ...make, command: 'make bad' })).toMatchObject({ code: 'VT_POLICY_DENIED' })
    expect(await error(booted, { ...make, command: 'make; echo x > .envrc' })).toMatchObject({
      ...needs,
      message: expect.stringContaining('.envrc'),
    })
    await using plan = await boot(allow, { mode: 'plan' })
    expect(await error(plan, make)).toMatchObject({ code: 'VT_POLICY_DENIED' })
    await using full = await boot(allow, {
      mode: 'full-auto',
      config: { automation: { full_auto: { enabled: true } } },
    })
    expect(await error(full, { ...make, command: 'bash -c "$(cat Makefile)"' })).toMatchObject({
      code: 'VT_POLICY_DENIED',
    })
    expect(await booted.read('a.txt')).toBe('first\n')
  })

  it('copies ignored files too, after the others, and takes their removal back', async () => {
    await using booted = await boot(allow, {
      mode: 'auto',
      files: { '.gitignore': '*.log\n', 'a.txt': 'first\n', 'b.log': 'second\n' },
    })
    expect(await output(booted, { ...make, command: 'rm a.txt b.log' })).toMatchObject({
      checkpoint: {
        files: 3,
        complete: true,
        changed: [
          { path: 'a.txt', kind: 'delete' },
          { path: 'b.log', kind: 'delete' },
        ],
      },
    })
    expect(await vtcode(booted, ['undo'])).toMatchObject({ code: 0 })
    expect([await booted.read('a.txt'), await booted.read('b.log')]).toEqual(['first\n', 'second\n'])
  })

  it('calls a checkpoint incomplete where a file is too large for it', async () => {
    await using booted = await boot(allow, { mode: 'auto', files: { 'a.txt': 'a\n' } })
    writeFileSync(join(booted.root, 'large.bin'), '')
    truncateSync(join(booted.root, 'large.bin'), 65 * 1024 * 1024)
    const result = await call(booted, { ...make, command: 'touch c.txt' })
    expect(result).toMatchObject({
      output: { checkpoint: { files: 2, complete: false, changed: [{ path: 'c.txt', kind: 'add' }] } },
    })
    expect(JSON.stringify(result)).toContain('large.bin (65 MB, larger than 64 MB)')
    expect(JSON.stringify(await call(booted, { ...make, command: 'touch d.txt' }))).not.toContain('large.bin')
  })

  it('keeps the files before an allowed command too, and reports a change alone', async () => {
    await using booted = await boot({ ...allow, allow: ['Bash(make)'] }, { mode: 'auto' })
    expect(await call(booted, make)).toMatchObject({
      output: { checkpoint: { changed: [{ path: 'a.txt' }, { path: 'b.txt' }] } },
      notices: [{ code: 'VT_EXEC_CHANGED', message: expect.stringMatching(/^1 file changed; `vtcode revert /) }],
    })
    expect(await call(booted, { ...make, command: 'ls' })).not.toHaveProperty('output.checkpoint')
  })

  it('runs nothing once where no file can be kept, then runs the repeated call', async () => {
    await using booted = await boot({ allow: ['Bash(make)'] }, { mode: 'auto' })
    mkdirSync(join(booted.home, '.vtcode'), { recursive: true })
    writeFileSync(join(booted.home, '.vtcode/checkpoints'), 'no folder')
    expect(await error(booted, make)).toMatchObject({ code: 'VT_EXEC_CHECKPOINT' })
    expect(existsSync(join(booted.root, 'b.txt'))).toBe(false)
    expect(await call(booted, make)).toMatchObject({ ok: true })
  })

  it('reports the changes of a background command after its end', async () => {
    await using booted = await boot(allow, {
      mode: 'auto',
      files: { 'late.sh': 'sleep 0.6; echo late > a.txt\n', 'a.txt': 'first\n' },
    })
    const started = await output(booted, { action: 'run', command: 'sh late.sh', background: true })
    expect(started).toMatchObject({ running: true, checkpoint: { changed: [] } })
    let ended: any
    await eventually(
      async () =>
        (ended = (await call(booted, { action: 'poll', session_id: started.session_id, yield_time_ms: 1000 })) as any)
          .output.running === false,
    )
    expect(ended).toMatchObject({
      output: { checkpoint: { changed: [{ path: 'a.txt', kind: 'update' }] } },
      notices: [{ code: 'VT_EXEC_SANDBOXED' }],
    })
  })

  it('asks as usual for repository settings, without a sandbox and for tools of other plugins', async () => {
    await using brought = await bootKernel({ files: { ...files, 'vtcode.config.yaml': settings }, mode: 'auto' })
    expect(await error(brought, make)).toMatchObject(needs)
    await using off = await boot(allow, { mode: 'auto', config: { sandbox: { mode: 'off' } } })
    expect(await error(off, make)).toMatchObject(needs)
    const approve = () => true
    expect(await off.kernel.call('unified_exec', make, { approve })).toMatchObject({
      ok: true,
      output: { exit_code: 0 },
    })
    await using missing = await tempWorkspace({ ...files, '../home/.vtcode/vtcode.config.yaml': settings })
    const bare = await vtcode(missing, ['--mode', 'auto', 'call', 'unified_exec', 'run', '--command', 'make'], {
      env: { PATH: '/nowhere' },
    })
    expect(JSON.parse(bare.stdout)).toMatchObject({
      error: { ...needs, hint: expect.not.stringContaining('sandboxed_commands') },
    })
    const plugin =
      'effects: [exec]\ndescription: Runs something.\nmodule: ./run.js\ninput: { properties: { command: { type: string, format: command }, sandbox_permissions: { enum: [use_default, sandbox_or_ask] } } }\n'
    await using theirs = await tempWorkspace({
      'own.yaml': `action: demo/run\n${plugin}`,
      'instead.yaml': 'action: unified_exec/run\nstage: override\nname: theirs\nmodule: ./run.js\n',
      'run.js': 'export default () => ({ ok: true, output: {} })\n',
    })
    await using booted = await boot(allow, { mode: 'auto', manifests: [theirs.root] })
    expect(booted.kernel.inspection.contributions()).toContainEqual(
      expect.objectContaining({ slot: 'unified_exec/run', stage: 'override', state: 'active' }),
    )
    expect(await error(booted, make)).toMatchObject(needs)
    expect(await booted.call('demo', { action: 'run', command: 'make' })).toMatchObject({ ok: false, error: needs })
  })
})

describe.skipIf(none)(`policy.sandboxed_commands unset${skipped}`, () => {
  it('ignores words of the model and offers the setting in the question and the refusal', async () => {
    await using booted = await boot({}, { mode: 'auto' })
    for (const sandbox_permissions of [undefined, 'sandbox_or_ask', 'use_default'])
      expect(await error(booted, { ...make, sandbox_permissions })).toMatchObject(needs)
    expect(await error(booted, make)).toMatchObject({
      hint: expect.stringContaining(
        'or the user sets `policy.sandboxed_commands: allow` in ~/.vtcode/vtcode.config.yaml, so that it runs in the sandbox without approval: no network, only the workspace is writable, a checkpoint first.',
      ),
    })
    expect((await error(booted, { ...make, command: 'make; echo x > .envrc' })).hint).not.toContain(
      'sandboxed_commands',
    )
    const seen: Approval[] = []
    await booted.kernel.call('unified_exec', make, { approve: (request) => void seen.push(request) })
    expect(seen[0]!.question).toContain('Instead of answering, you can set `policy.sandboxed_commands: allow`')
    expect(await booted.read('a.txt')).toBe('first\n')
  })
})

describe.skipIf(none)(`hints for a denied command${skipped}`, () => {
  it('leads over MCP from the refusal to a run, by another tool or by a setting of the user', async () => {
    await using made = await tempWorkspace(files)
    const connected = async (use: (text: (name: string, args: object) => Promise<string>) => Promise<void>) => {
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [bin, 'mcp'],
          cwd: made.root,
          env: surroundings(made),
          stderr: 'ignore',
        }),
      )
      await use(async (name, args) =>
        ((await client.callTool({ name, arguments: { ...args } })).content as { text: string }[])
          .map(({ text }) => text)
          .join('\n'),
      ).finally(() => client.close())
    }
    await connected(async (text) => {
      expect(await text('unified_exec', make)).toMatch(
        /^VT_POLICY_NEEDS_APPROVAL: [^]*policy\.sandboxed_commands: allow/,
      )
      // The tool that the refusal names answers a read-only command.
      const inspected = await text('unified_exec', { action: 'run', command: 'cat a.txt > b.txt' })
      expect(inspected).toMatch(/unified_file_read|unified_search/)
    })
    await made.write('../home/.vtcode/vtcode.config.yaml', settings)
    await connected(async (text) =>
      expect(await text('unified_exec', make)).toMatch(/exit 0[^]*The command ran without approval/),
    )
    expect(readFileSync(join(made.root, 'b.txt'), 'utf8')).toBe('new\n')
  })

  it('leads at the command line and in the agent to a run, which is reported and can be reverted', async () => {
    await using made = await tempWorkspace({ ...files, '../home/.vtcode/vtcode.config.yaml': settings })
    expect(await vtcode(made, ['call', 'unified_exec', 'run', '--command', 'make'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('VT_EXEC_SANDBOXED'),
    })
    await using peer = await startPeer([{ toolCalls: [asked('unified_exec', make)] }, { content: 'Done.' }])
    await using place = await home(peer, files)
    const file = join(place.home, '.vtcode/vtcode.config.json')
    const own = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...own, policy: { ...own.policy, ...allow } }))
    const ran = await agent(place, ['exec', 'make it'])
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('2 files changed')])
    expect(await place.read('a.txt')).toBe('changed\n')
    expect((await agent(place, ['undo'])).code).toBe(0)
    expect([await place.read('a.txt'), existsSync(join(place.root, 'b.txt'))]).toEqual(['first\n', false])
    expect((await agent(place, ['undo'])).out).not.toContain('Undone')
  })
})
