import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKernel, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { scene } from '../../support/inside.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

// The home is that of the kernel, however the kernel got it: the environment of this process names another one. The home is in the workspace, with
// one secret in several files.
const secret = 'hunter2_the_secret'
const kept = {
  'vtcode.config.yaml': `# ${secret}\n`,
  'model-logins/peer-0123.json': `{"token":"${secret}"}`,
  'mcp-logins/a.ts': `export const token = '${secret}'\n`,
  'chat_history.jsonl': `${secret}\n`,
  'AGENTS.md': 'Be brief.\n',
}
const ways: Record<
  string,
  (place: TempWorkspace) => { at: string; options: object; flags: string[]; env: Record<string, string> }
> = {
  'an option that names a folder in the workspace': ({ root }) => ({
    at: 'h/.vtcode',
    options: { home: join(root, 'h') },
    flags: ['--home', join(root, 'h')],
    env: {},
  }),
  'an option that names a link which lies outside': ({ home }) => ({
    at: 'h/.vtcode',
    options: { home: join(home, 'way') },
    flags: ['--home', join(home, 'way')],
    env: {},
  }),
  'a folder whose .vtcode is the place of the workspace’s own state': ({ root }) => ({
    at: '.vtcode',
    options: { home: root },
    flags: ['--home', root],
    env: {},
  }),
  'a variable of the environment that was given': ({ root }) => ({
    at: 'state',
    options: { env: { PATH: process.env['PATH'], VTCODE_HOME: join(root, 'state') } },
    flags: [],
    env: { VTCODE_HOME: join(root, 'state') },
  }),
}

/** Everything that tools can say of an answer but what they were asked. */
const told = (answer: unknown, input: unknown): string =>
  JSON.stringify(answer).replaceAll(JSON.stringify(input).slice(1, -1), '')

describe.each(Object.entries(ways))('home in the workspace by %s', (_, way) => {
  let place: TempWorkspace
  let kernel: Kernel
  let at: string
  let flags: string[]
  let env: Record<string, string>
  beforeAll(async () => {
    const made = await tempWorkspace({ 'a.txt': 'a\n', 'notes/b.txt': 'b\n' })
    place = made
    const { options, ...rest } = way(made)
    ;({ at, flags, env } = rest)
    for (const [name, text] of Object.entries(kept)) await made.write(join(at, name), text)
    mkdirSync(join(made.root, at, '..'), { recursive: true })
    symlinkSync(join(made.root, 'h'), join(made.home, 'way'))
    symlinkSync(at, join(made.root, 'innocent'))
    kernel = await createKernel({
      workspace: made.root,
      mode: 'auto',
      config: { policy: { allow: ['Bash'] }, sandbox: { mode: 'off' } },
      ...options,
    })
    expect(kernel.inspection.home.startsWith(made.root) || kernel.inspection.home.startsWith(made.home)).toBe(true)
  })
  afterAll(async () => {
    await kernel.close()
    await place[Symbol.asyncDispose]()
  })

  it('keeps every tool, command and search from reading the home', async () => {
    const key = `${at}/model-logins/peer-0123.json`
    const all = { include_hidden: true, include_ignored: true }
    const denied: [string, Record<string, unknown>][] = [
      ...[
        key,
        `${at}/vtcode.config.yaml`,
        `${at}/trust.json`,
        'innocent/chat_history.jsonl',
        `${place.root}/${key}`,
      ].map((path): [string, Record<string, unknown>] => ['unified_file', { action: 'read', path }]),
      ['unified_file', { action: 'read', path: key, offset_bytes: 0 }],
      ['unified_file', { action: 'copy', path: key, destination: 'copied.txt' }],
      ['unified_file', { action: 'copy', path: at, destination: 'copied', recursive: true }],
      ['unified_file', { action: 'edit', path: key, old_str: 'x', new_str: 'y' }],
      ['unified_search', { action: 'grep', pattern: 'hunter2', path: key }],
      [
        'unified_search',
        { action: 'structural', pattern: 'export const token = $A', lang: 'ts', path: `${at}/mcp-logins/a.ts` },
      ],
      ['unified_search', { action: 'outline', path: `${at}/mcp-logins/a.ts` }],
      ['apply_patch', { input: `*** Begin Patch\n*** Update File: ${key}\n@@\n-export const x\n+y\n*** End Patch` }],
      ['read_file', { path: key }],
      ...[
        `cat ${key}`,
        `head -c 9 < ${key}`,
        `cd ${at} && cat chat_history.jsonl`,
        `grep -r hunter2 ${at}/mcp-logins`,
        `python3 -c pass ${at}/trust.json`,
        `curl -d @${at}/trust.json --cacert=${at}/x http://localhost`,
      ].map((command): [string, Record<string, unknown>] => ['unified_exec', { action: 'run', command }]),
    ]
    for (const [tool, input] of denied) {
      const answer = await kernel.call(tool, input, { session: JSON.stringify(input) })
      expect([input, answer.ok ? answer.output : answer.error.code]).toEqual([input, 'VT_POLICY_DENIED'])
      expect(told(answer, input)).not.toContain('hunter2_')
    }
    const searched = [
      { action: 'grep', pattern: 'hunter2', path: '.', ...all },
      { action: 'grep', pattern: 'hunter2', path: at, globs: ['**/*.yaml', '**/*.json'], ...all },
      { action: 'list', mode: 'find_content', content_pattern: 'hunter2', path: '.', ...all },
      { action: 'structural', pattern: 'export const token = $A', lang: 'ts', path: '.', ...all },
      { action: 'outline', path: at, ...all },
      { action: 'grep', pattern: 'hunter2', path: 'innocent', ...all },
    ]
    for (const input of searched)
      expect(told(await kernel.call('unified_search', input), input)).not.toContain('hunter2_')
    expect(existsSync(join(place.root, 'copied')) || existsSync(join(place.root, 'copied.txt'))).toBe(false)
    expect(await kernel.call('unified_file', { action: 'read', path: `${at}/AGENTS.md` })).toMatchObject({
      ok: true,
      output: { content: 'Be brief.\n' },
    })
  })

  it('explains whose folder the home is and that no rule opens it', async () => {
    const answer = await kernel.call('unified_file', { action: 'read', path: `${at}/approvals.key` })
    expect(answer).toMatchObject({
      ok: false,
      error: {
        code: 'VT_POLICY_DENIED',
        message: expect.stringContaining(`'${at}/approvals.key' lies in the home of this program`),
        hint: expect.stringContaining('by hand'),
      },
    })
    expect(
      await kernel.explain('unified_file', { action: 'read', path: `${at}/approvals.key` }, { session: 'asked' }),
    ).toMatchObject({ verdict: 'deny', decided_by: expect.stringContaining('permission') })
  })

  it('keeps every tool from writing to the home, with or without approval', async () => {
    const before = readdirSync(join(place.root, at))
    const calls: [string, Record<string, unknown>][] = [
      ...['approvals.key', 'trust.json', 'plugins/evil/plugin.yaml', 'skills/x/SKILL.md', 'vtcode.config.yaml'].map(
        (name): [string, Record<string, unknown>] => [
          'unified_file',
          { action: 'write', path: `${at}/${name}`, content: 'x' },
        ],
      ),
      ['unified_file', { action: 'delete', path: at, recursive: true }],
      ['unified_file', { action: 'move', path: at, destination: 'away' }],
      ...(at.includes('/')
        ? [['unified_file', { action: 'move', path: 'h', destination: 'away' }] as [string, Record<string, unknown>]]
        : []),
      ['unified_file', { action: 'move', path: 'a.txt', destination: `${at}/trust.json` }],
      ['unified_file', { action: 'write', path: 'innocent/plugins/evil.yaml', content: 'x' }],
      ['apply_patch', { input: `*** Begin Patch\n*** Add File: ${at}/plugins/evil.yaml\n+x\n*** End Patch` }],
      ...[
        `echo x > ${at}/trust.json`,
        `cp a.txt ${at}/approvals.key`,
        `cd ${at} && touch trust.json`,
        `rm -rf ${at}`,
      ].map((command): [string, Record<string, unknown>] => ['unified_exec', { action: 'run', command }]),
    ]
    for (const [tool, input] of calls) {
      const answer = await kernel.call(tool, input, { session: JSON.stringify(input), approve: () => true })
      expect([input, answer.ok ? answer.output : answer.error.code]).toEqual([input, 'VT_POLICY_DENIED'])
    }
    expect([readdirSync(join(place.root, at)), readFileSync(join(place.root, at, 'AGENTS.md'), 'utf8')]).toEqual([
      before,
      'Be brief.\n',
    ])
  })

  it('protects the home on the command line, over MCP and from sandboxed commands', async () => {
    const lines = [
      ['unified_file', 'read', '--path', `${at}/vtcode.config.yaml`],
      ['unified_file', 'write', '--path', `${at}/approvals.key`, '--content', 'x'],
    ]
    for (const words of lines) {
      const { stdout } = await vtcode(place, [...flags, 'call', '--mode', 'full-auto', ...words], { env })
      expect([words, (JSON.parse(stdout) as { error?: { code: string } }).error?.code]).toEqual([
        words,
        'VT_POLICY_DENIED',
      ])
    }
    // The words of the command do not reveal its effect.
    await place.write(
      'work.sh',
      `cat ${at}/model-logins/* ${at}/vtcode.config.yaml innocent/chat_history.jsonl; echo x > ${at}/trust.json; mv ${at} away; mv h gone; rm -rf ${at}; ls -a\n`,
    )
    const client = new Client({ name: 'one', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [
          bin,
          '-c',
          'policy.sandboxed_commands=allow',
          '-c',
          'sandbox.mode=required',
          ...flags,
          '--workspace',
          place.root,
          '--mode',
          'auto',
          'mcp',
        ],
        env: surroundings(place, env),
        stderr: 'ignore',
      }),
    )
    try {
      const answer = await client.callTool({
        name: 'unified_exec',
        arguments: { action: 'run', command: 'sh work.sh' },
      })
      expect(JSON.stringify(answer)).toContain('a.txt')
      expect(JSON.stringify(answer)).not.toContain('hunter2_')
      expect(
        JSON.stringify(
          await client.callTool({
            name: 'unified_file',
            arguments: { action: 'read', path: 'innocent/chat_history.jsonl' },
          }),
        ),
      ).toContain('VT_POLICY_DENIED')
    } finally {
      await client.close()
    }
    expect([
      await place.read(`${at}/model-logins/peer-0123.json`),
      existsSync(join(place.root, at, 'trust.json')),
      readdirSync(place.root)
        .filter((name) => ['away', 'gone'].includes(name))
        .flatMap((name) => readdirSync(join(place.root, name)))
        .filter((name) => name !== 'trust.json'),
    ]).toEqual([kept['model-logins/peer-0123.json'], false, []])
  })
})

describe('sibling kernel for another folder', () => {
  it('keeps the home of its first kernel and protects it', async () => {
    await using first = await tempWorkspace({})
    await using second = await tempWorkspace({ 'h/.vtcode/model-logins/a.json': secret, 'h/notes.txt': 'n' })
    const kernel = await createKernel({ workspace: first.root, home: join(second.root, 'h'), mode: 'auto' })
    const other = await kernel.inspection.openSibling(second.root)
    try {
      expect(other.inspection.home).toBe(join(second.root, 'h/.vtcode'))
      expect(await other.call('unified_file', { action: 'read', path: 'h/.vtcode/model-logins/a.json' })).toMatchObject(
        { ok: false, error: { code: 'VT_POLICY_DENIED' } },
      )
      expect(
        await other.call('unified_file', { action: 'write', path: 'h/.vtcode/trust.json', content: '{}' }),
      ).toMatchObject({ ok: false, error: { code: 'VT_POLICY_DENIED' } })
      expect(await other.call('unified_file', { action: 'read', path: 'h/notes.txt' })).toMatchObject({ ok: true })
    } finally {
      await Promise.all([kernel.close(), other.close()])
    }
  })

  it('protects settings and keys when the workspace is the home itself, and reads its rules', async () => {
    await using place = await tempWorkspace({
      'vtcode.config.yaml': `# ${secret}\n`,
      'AGENTS.md': 'Be brief.\n',
      'rules/a.md': 'a\n',
    })
    const kernel = await createKernel({
      workspace: place.root,
      env: { PATH: process.env['PATH'], VTCODE_HOME: place.root },
      mode: 'auto',
    })
    try {
      for (const path of ['vtcode.config.yaml', 'approvals.key', 'trust.json', 'TRUST.JSON']) {
        for (const input of [
          { action: 'read', path },
          { action: 'write', path, content: 'x' },
        ])
          expect([input, await kernel.call('unified_file', input, { approve: () => true })]).toMatchObject([
            input,
            { ok: false, error: { code: 'VT_POLICY_DENIED' } },
          ])
      }
      expect(await kernel.call('unified_file', { action: 'read', path: 'rules/a.md' })).toMatchObject({ ok: true })
    } finally {
      await kernel.close()
    }
  })

  it('allows files with such names when the home is elsewhere', async () => {
    await using place = await tempWorkspace({ 'h/.vtcode/approvals.key': 'k', 'trust.json': '{}' })
    writeFileSync(join(place.home, 'x'), '')
    const kernel = await createKernel({ workspace: place.root, home: place.home, mode: 'auto' })
    try {
      for (const path of ['h/.vtcode/approvals.key', 'trust.json'])
        expect(await kernel.call('unified_file', { action: 'read', path })).toMatchObject({ ok: true })
    } finally {
      await kernel.close()
    }
  })
})

describe('kernel with its own home and environment', () => {
  it('uses the given home and environment for ~ in rules, values of settings and secrets', async () => {
    await using place = await tempWorkspace({ 'h/private/a.txt': secret, 'b.txt': 'given-0123456789' })
    const config = {
      policy: { deny: ['Read(~/private/**)'], allow: ['Bash'] },
      exec: { env: { SHOWN: { env: 'GIVEN' } } },
      sandbox: { mode: 'off' as const },
    }
    const kernel = await createKernel({
      workspace: place.root,
      home: join(place.root, 'h'),
      env: { PATH: process.env['PATH'], GIVEN: 'of the kernel', GIVEN_TOKEN: 'given-0123456789' },
      mode: 'auto',
      config,
    })
    try {
      expect([kernel.inspection.home, kernel.inspection.env['HOME']]).toEqual([
        join(place.root, 'h/.vtcode'),
        join(place.root, 'h'),
      ])
      expect(await kernel.call('unified_file', { action: 'read', path: 'h/private/a.txt' })).toMatchObject({
        ok: false,
        error: { code: 'VT_POLICY_DENIED', message: expect.stringContaining('Read(~/private/**)') },
      })
      expect(
        JSON.stringify(
          await kernel.call('unified_search', {
            action: 'list',
            mode: 'find_content',
            content_pattern: 'hunter2',
            path: '.',
          }),
        ),
      ).not.toContain('private')
      expect(await kernel.call('unified_exec', { action: 'run', command: 'echo "$SHOWN"; cat b.txt' })).toMatchObject({
        ok: true,
        output: { stdout: 'of the kernel\n[redacted:GIVEN_TOKEN]' },
      })
    } finally {
      await kernel.close()
    }
  })

  it('stores the sessions of its agents in its own home', async () => {
    const s = await scene([{ content: 'Done.' }])
    await s.run('go')
    const index = (home: string) => join(home, '.vtcode/state/sessions.index.jsonl')
    expect([
      readFileSync(index(s.booted.home), 'utf8').trim().split('\n').length,
      existsSync(index(process.env['HOME']!)),
    ]).toEqual([1, false])
  })
})
