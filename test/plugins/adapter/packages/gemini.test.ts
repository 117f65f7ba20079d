import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Config, Kernel } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type Files } from 'vtcode/test'

const json = JSON.stringify
const told = (kernel: Kernel, code: string): string =>
  [...kernel.diagnostics(), ...kernel.inspection.skills().diagnostics]
    .flatMap((one) => (one.code === code ? [one.message] : []))
    .join('\n')
async function boot(files: Files, config: Config = {}): Promise<{ vt: Booted } & AsyncDisposable> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
  )
  const vt = await bootKernel({ manifests: [join(place.root, 'pack')], config, files: { 'a.txt': 'one\n' } })
  return {
    vt,
    [Symbol.asyncDispose]: async () => void (await Promise.all([vt, place].map((one) => one[Symbol.asyncDispose]()))),
  }
}

it('loads Gemini commands as prompts named by their path and keeps their programs and files as text', async () => {
  await using made = await boot({
    'gemini-extension.json': json({ name: 'pack', version: '1.0.0' }),
    'commands/git/commit.toml':
      'description = "Writes a message."\nprompt = """\nWrite a message for {{args}}.\n!{git diff --staged}\n@{docs/style.md}\n"""\n',
    'commands/plain.toml': 'prompt = "Say hello to $& and {{args}}."\n',
    'commands/broken.toml': 'prompt = \n',
    'commands/empty.toml': 'description = "x"\n',
    'commands/deep.toml': `prompt = "x"\na = ${'['.repeat(90)}${']'.repeat(90)}\n`,
    'commands/keys.toml': 'prompt = "x"\n[__proto__]\npolluted = true\n',
  })
  const ids = made.vt.kernel.inspection.skills().all.flatMap(({ id }) => (id.startsWith('pack:') ? [id] : []))
  expect(ids.sort()).toEqual(['pack:git-commit', 'pack:plain'])
  matches(made.vt.kernel.inspection.skills().find('git-commit'), {
    description: 'Writes a message.',
    prompt: true,
    metadata: { source: 'command' },
  })
  matches(await made.vt.call('load_skill', { name: 'git-commit' }), {
    ok: true,
    output: {
      instructions:
        're:^Write a message for \\{\\{args\\}\\}\\.\\n!\\{git diff --staged\\}\\n@\\{docs/style\\.md\\}\\n',
    },
  })
  matches(await made.vt.call('load_skill', { name: 'plain' }), {
    ok: true,
    output: { instructions: 'Say hello to $& and {{args}}.' },
  })
  expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toBe('')
  const invalid = told(made.vt.kernel, 'VT_FORMAT_INVALID')
  for (const name of ['broken', 'empty', 'deep', 'keys']) expect(invalid).toContain(`${name}.toml`)
  expect(({} as { polluted?: true }).polluted).toBeUndefined()
})

it('applies deny and ask rules of a Gemini extension, ignores its allow rules and asks for unsupported ones', async () => {
  await using made = await boot({
    'gemini-extension.json': json({
      name: 'pack',
      excludeTools: ['run_shell_command(rm -rf)', 'google_web_search', 'run_shell_command("quoted")', 'save_memory'],
    }),
    'policies/a.toml': [
      [
        'toolName = "run_shell_command"',
        'commandPrefix = ["git push", "npm publish"]',
        'decision = "deny"',
        'priority = 10',
      ],
      ['toolName = "write_file"', 'decision = "ask_user"', 'priority = 1'],
      ['toolName = "run_shell_command"', 'decision = "allow"', 'priority = 999'],
      ['toolName = "replace"', 'argsPattern = "secret"', 'decision = "deny"', 'priority = 1'],
      ['mcpName = "s"', 'decision = "deny"', 'priority = 1'],
    ]
      .map((lines) => `[[rule]]\n${lines.join('\n')}\n`)
      .join('\n'),
  })
  const { vt } = made
  const run = (command: string) => vt.kernel.explain('unified_exec', { action: 'run', command })
  const denied = (explanation: unknown): boolean =>
    /deny|denied/i.test(json(explanation)) && json(explanation).includes('pack:rules')
  for (const command of ['rm -rf x', 'git push origin', 'npm publish'])
    expect([command, denied(await run(command))]).toEqual([command, true])
  const result = await vt.call('unified_exec', { action: 'run', command: 'git push origin main' })
  matches(result, { ok: false, error: { code: 'VT_POLICY_DENIED' } })
  matches(await vt.call('unified_file', { action: 'write', path: 'b.txt', content: 'x' }), {
    ok: false,
    error: { code: 'VT_POLICY_NEEDS_APPROVAL' },
  })
  matches(await vt.call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' }), {
    ok: false,
    error: { code: 'VT_POLICY_NEEDS_APPROVAL' },
  })
  matches(await vt.call('unified_exec', { action: 'run', command: 'true' }), {
    ok: false,
    error: { code: 'VT_POLICY_NEEDS_APPROVAL' },
  })
  expect(told(vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toMatch(
    /Rules with more than .*\(3: run_shell_command\("quoted"\), save_memory, a\.toml: replace\)/,
  )
})

it('loads the settings of a Gemini extension as options, secrets and variables of its programs', async () => {
  const fixture = new URL('../../../fixtures/mcp/server.mjs', import.meta.url).pathname
  const place = await tempWorkspace({
    'tools.json': json([{ name: 'environment', description: 'Tells it.', inputSchema: { type: 'object' } }]),
  })
  const settings = [
    { name: 'Region', description: 'Where.', envVar: 'REGION' },
    { name: 'Key', description: 'Secret.', envVar: 'API_KEY', sensitive: true },
  ]
  const config = {
    plugins: { settings: { pack: { options: { REGION: 'eu' } } } },
    secrets: { 'pack:API_KEY': 'hush-hush-hush' },
  } as Config
  await using made = await boot(
    {
      'gemini-extension.json': json({
        name: 'pack',
        settings,
        mcpServers: { s: { command: 'node', args: [fixture, place.root] } },
        contextFileName: 'GEMINI.md',
        themes: [],
      }),
      'GEMINI.md': 'x',
    },
    config,
  )
  matches(await made.vt.call('mcp__plugin_pack_s__environment', {}), { ok: true, output: { env: { REGION: 'eu' } } })
  const { output } = (await made.vt.call('mcp__plugin_pack_s__environment', {})) as unknown as {
    output: { env: Record<string, string> }
  }
  expect([Object.hasOwn(output.env, 'API_KEY'), json(output).includes('hush')]).toEqual([true, false])
  expect(told(made.vt.kernel, 'VT_FORMAT_UNSUPPORTED')).toMatch(/^'themes'/)
  await place[Symbol.asyncDispose]()
})
