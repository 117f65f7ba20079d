import { symlink } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Boot, type Booted, type TempWorkspace } from 'vtcode/test'
import type { CallOptions, Config, Mode, Result } from 'vtcode'

// One harmless slot per effect: an allowed call answers ok and changes nothing.
const done = 'export default () => ({ ok: true, output: {} })\n'
const slot = (action: string, effects: string, properties: string): string =>
  `action: demo/${action}\neffects: [${effects}]\ndescription: Does nothing.\nmodule: ./done.js\ninput: { properties: { ${properties} } }\n`
const path = 'path: { type: string, format: workspace-path }, destination: { type: string, format: workspace-path }'
let plugins: TempWorkspace
beforeAll(async () => {
  plugins = await tempWorkspace({
    'done.js': done,
    'look.yaml': slot('look', 'read', path),
    'put.yaml': slot('put', 'write', `${path}, patch: { type: string }`),
    'run.yaml': slot(
      'run',
      'exec',
      'command: { anyOf: [{ type: string }, { type: array, items: { type: string } }], format: command }',
    ),
    'fetch.yaml': slot('fetch', 'net', 'url: { type: string }'),
    'both.yaml': slot('both', 'write, net', path),
    'nothing.yaml': slot('nothing', '', ''),
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const boot = (mode: Mode, config: Config = {}, how: Boot = {}): Promise<Booted> =>
  bootKernel({
    ...how,
    mode,
    config: { automation: { full_auto: { enabled: true, allowed_tools: [] } }, ...config },
    manifests: [plugins.root],
  })

const verdict = (result: Result): string =>
  result.ok
    ? 'run'
    : ({ VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code)

async function ask(booted: Booted, action: string, input: object = {}, options?: CallOptions): Promise<string> {
  return verdict(await booted.call('demo', { action, ...input }, options))
}

describe('permission modes', () => {
  const table: [Mode, Record<string, string>][] = [
    ['plan', { look: 'run', put: 'deny', run: 'deny', fetch: 'ask', both: 'deny', nothing: 'run' }],
    ['ask', { look: 'run', put: 'ask', run: 'ask', fetch: 'ask', both: 'ask', nothing: 'run' }],
    ['auto', { look: 'run', put: 'run', run: 'ask', fetch: 'ask', both: 'ask', nothing: 'run' }],
    ['full-auto', { look: 'run', put: 'ask', run: 'ask', fetch: 'ask', both: 'ask', nothing: 'run' }],
  ]
  it.each(table)('judges in mode %s by the worst effect of a call', async (mode, expected) => {
    await using booted = await boot(mode)
    for (const [action, word] of Object.entries(expected)) {
      expect([action, await ask(booted, action, action === 'run' ? { command: 'make' } : {})]).toEqual([action, word])
    }
  })

  it('allows writes in plan mode only below .vtcode/plans/, after resolving links', async () => {
    await using booted = await boot('plan', {}, { files: { '.vtcode/plans/a.md': '', 'src/a.ts': '' } })
    await symlink('../../src', `${booted.root}/.vtcode/plans/out`)
    expect(await ask(booted, 'put', { path: '.vtcode/plans/new/b.md' })).toBe('run')
    expect(await ask(booted, 'put', { path: '.vtcode/plans/a.md', destination: 'src/b.ts' })).toBe('deny')
    expect(await ask(booted, 'put', { path: '.vtcode/plans/out/a.ts' })).toBe('deny')
    expect(await ask(booted, 'put', { path: '.vtcode/plans/../plans' })).toBe('deny')
    expect(await ask(booted, 'put', {})).toBe('deny')
  })

  it('runs listed slots, families and effects in full-auto', async () => {
    await using booted = await boot('full-auto', {
      automation: { full_auto: { enabled: true, allowed_tools: ['demo/put', 'net'] } },
    })
    expect(await ask(booted, 'put')).toBe('run')
    expect(await ask(booted, 'fetch')).toBe('run')
    expect(await ask(booted, 'both')).toBe('ask')
    expect(await ask(booted, 'run', { command: 'make' })).toBe('ask')
  })

  it('lets an approver answer an ask and never a denial', async () => {
    await using auto = await boot('auto')
    await using plan = await boot('plan')
    const approve = (): boolean => true
    expect(await ask(auto, 'fetch', {}, { approve })).toBe('run')
    expect(await ask(auto, 'fetch', {}, { approve: () => false })).toBe('ask')
    expect(await ask(plan, 'put', {}, { approve })).toBe('deny')
  })
})

describe('refusal texts', () => {
  it('names what was not done, what to use instead and the next step for the surface', async () => {
    await using booted = await boot('plan')
    const result = await booted.call('demo', { action: 'run', command: 'sed -n 2,5p README.md' })
    matches(result, {
      ok: false,
      error: {
        code: 'VT_POLICY_DENIED',
        retryable: false,
        hint: 're:Nothing was done\\..*unified_search.*unified_file.*request_user_input.*--mode auto.*',
        next: {
          tool: 'unified_file',
          input: { action: 'read', path: 'README.md', offset_lines: 2, page_size_lines: 4 },
        },
        details: { not_applied: true, say: 're:Not applied\\..*next action:.*' },
      },
    })
    const inChat = await booted.call('demo', { action: 'put', path: 'x' }, { surface: 'chat' })
    matches(inChat, {
      ok: false,
      error: { hint: 're:.*/mode auto.*', details: { say: 're:Not applied\\..*/mode auto.*' } },
    })
  })

  it.each([
    ['tree src', { action: 'list', path: 'src' }],
    ['find src -name *.ts', { action: 'list', mode: 'find_name', path: 'src', name_pattern: '*.ts' }],
    ["grep -rn 'TODO' src", { action: 'grep', pattern: 'TODO', path: 'src' }],
    ['rg TODO', { action: 'grep', pattern: 'TODO', path: '.' }],
  ])('names the search that answers `%s`', async (command, input) => {
    await using booted = await boot('plan')
    matches(await booted.call('demo', { action: 'run', command }), {
      ok: false,
      error: { next: { tool: 'unified_search', input } },
    })
  })

  it.each([
    ['git status && npm install', 'npm install', []],
    ['git diff && rm -rf x', 'rm -rf x', []],
    ['git status; npm install', 'git status', ['Bash(npm install)']],
    ['git commit -m x && git status', 'git commit -m x', []],
  ])(
    'names the command that may change something, not the reading git before it: %s',
    async (command, named, allow) => {
      await using booted = await boot('ask', { policy: { allow } })
      const result = await booted.call('unified_exec', { action: 'run', command })
      matches(result, {
        ok: false,
        error: { code: 'VT_POLICY_NEEDS_APPROVAL', message: `re:.*\`${named}\` is not known to only read.*` },
      })
    },
  )
})

describe('permission rules', () => {
  it('shows no part of a secret in a reason, wherever a long command or address is cut', async () => {
    const secret = 'q7Zp2LmX9vRt4KsW8nBd'
    const parts = [...secret].slice(0, -4).map((_, at) => secret.slice(at, at + 5))
    await using booted = await boot('ask', {}, { env: { ACME_API_KEY: secret } })
    const shown = async (input: Record<string, string>): Promise<string> => {
      const answer = JSON.stringify(await booted.call('demo', input))
      expect(answer).toContain('VT_POLICY_NEEDS_APPROVAL')
      return parts.filter((part) => answer.includes(part)).join(' ')
    }
    for (let before = 0; before < 120; before += 4) {
      const filler = 'x'.repeat(before)
      expect(await shown({ action: 'run', command: `tool ${filler} ${secret} ${'y'.repeat(70)}` }), filler).toBe('')
      expect(await shown({ action: 'fetch', url: `https://example.org/${filler}?k=${secret}&${'y'.repeat(70)}` })).toBe(
        '',
      )
    }
    const login = await booted.call('demo', { action: 'fetch', url: 'https://user:hunter2@example.org/' })
    expect(JSON.stringify(login)).toMatch(/fetch https:\/\/\[redacted\]@example\.org/)
  })
  it('applies deny before ask before allow, in any order and mode', async () => {
    const policy = {
      deny: ['demo/look'],
      ask: ['demo/look', { rule: 'demo/put', reason: 'Because.' }],
      allow: ['demo/look', 'demo/put', 'demo/fetch'],
    }
    await using booted = await boot('auto', { policy })
    expect(await ask(booted, 'look')).toBe('deny')
    expect(await ask(booted, 'put')).toBe('ask')
    expect(await ask(booted, 'fetch')).toBe('run')
    matches(await booted.call('demo', { action: 'put' }), { ok: false, error: { message: 'Because.' } })
  })

  it('applies a denial in full-auto although the slot is listed', async () => {
    await using booted = await boot('full-auto', {
      policy: { deny: ['demo/put'] },
      automation: { full_auto: { enabled: true, allowed_tools: ['demo/put'] } },
    })
    expect(await ask(booted, 'put')).toBe('deny')
  })

  it('keeps plan mode closed for an allow rule', async () => {
    await using booted = await boot('plan', { policy: { allow: ['demo/put', 'Edit'] } })
    expect(await ask(booted, 'put', { path: 'a' })).toBe('deny')
  })

  const paths: [rule: string, path: string, hit: boolean][] = [
    ['.env', '.env', true],
    ['.env', 'deep/down/.env', true],
    ['.env', '.environment', false],
    ['/.env', 'deep/.env', false],
    ['./src/a.ts', 'src/a.ts', true],
    ['secrets', 'secrets/a/b.txt', true],
    ['secrets/', 'secrets/a', true],
    ['/src/**/*.key', 'src/a/b/c.key', true],
    ['/src/**/*.key', 'src/c.key', true],
    ['/src/**', 'srcs/a', false],
    ['src/*.ts', 'src/a/b.ts', false],
    ['*.[jt]s', 'lib/x.ts', true],
    ['*.[!jt]s', 'lib/x.ts', false],
    ['a?c', 'abc', true],
    ['a\\*c', 'abc', false],
  ]
  it.each(paths)('matches the path pattern %s on %s: %s', async (rule, file, hit) => {
    await using booted = await boot('auto', { policy: { deny: [`Edit(${rule})`] } })
    expect(await ask(booted, 'put', { path: file })).toBe(hit ? 'deny' : 'run')
  })

  it('matches a path as given or resolved, either end of a move, and the files of a patch', async () => {
    await using booted = await boot(
      'auto',
      { policy: { deny: ['Edit(/secrets/**)', 'Read(/secrets/**)'] } },
      { files: { 'secrets/a': '' } },
    )
    await symlink('secrets', `${booted.root}/innocent`)
    expect(await ask(booted, 'put', { path: 'innocent/a' })).toBe('deny')
    expect(await ask(booted, 'look', { path: 'innocent/a' })).toBe('deny')
    expect(await ask(booted, 'put', { path: 'a', destination: 'secrets/b' })).toBe('deny')
    expect(await ask(booted, 'put', { patch: '*** Begin Patch\n*** Update File: secrets/a\n*** End Patch' })).toBe(
      'deny',
    )
    expect(await ask(booted, 'put', { patch: '--- a/x\n+++ b/secrets/a\n@@ -1 +1 @@\n' })).toBe('deny')
    expect(await ask(booted, 'put', { path: 'a' })).toBe('run')
  })

  it('allows a path only when every path of the call is covered', async () => {
    await using booted = await boot('ask', { policy: { allow: ['Edit(/src/**)'] } })
    expect(await ask(booted, 'put', { path: 'src/a' })).toBe('run')
    expect(await ask(booted, 'put', { path: 'src/a', destination: 'b' })).toBe('ask')
    expect(await ask(booted, 'put', {})).toBe('ask')
  })

  it('refuses every call and names the rule when a rule cannot be read', async () => {
    await using booted = await boot('auto', { policy: { deny: ['Edit(unclosed'] } })
    matches(await booted.call('demo', { action: 'look' }), {
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: 're:.*Edit\\(unclosed.*' },
    })
  })

  it('ignores a glob in the tool name of an allow rule', async () => {
    await using booted = await boot('auto', { policy: { allow: ['*', 'd*/fetch'] } })
    expect(await ask(booted, 'fetch')).toBe('ask')
  })
})
