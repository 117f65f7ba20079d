import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type Files } from 'vtcode/test'

const json = JSON.stringify
async function boot(files: Files, more: object = {}): Promise<Booted & AsyncDisposable> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
  )
  const vt = await bootKernel({
    mode: 'auto',
    manifests: [join(place.root, 'pack')],
    files: { 'a.txt': 'one\n', '.env': 'KEY=hush\n' },
    ...more,
  })
  return Object.assign(vt, {
    [Symbol.asyncDispose]: async () => void (await Promise.all([vt.kernel.close(), place[Symbol.asyncDispose]()])),
  })
}
const claude = { '.claude-plugin/plugin.json': json({ name: 'pack' }) }
const gemini = { 'gemini-extension.json': json({ name: 'pack', version: '1.0.0' }) }
/** Returns the text for a person who calls a command by its name. */
async function called(
  vt: Booted,
  name: string,
  given = '',
  approve?: (asked: { reasons: readonly string[] }) => boolean,
): Promise<string> {
  const result = await vt.kernel.call(
    'load_skill',
    { name, ...(given !== '' && { arguments: given }) },
    { surface: 'prompt', ...(approve && { approve }) },
  )
  return result.ok
    ? String((result.output as { instructions: string }).instructions).trimEnd()
    : `${result.error.code} ${result.error.message}`
}

describe('package command called by a person', () => {
  it.each([
    ['$1 and $2', 'one "two three"', 'one and two three'],
    ['all: $ARGUMENTS', 'one "two three"', 'all: one "two three"'],
    ['$ARGUMENTS[1]$ARGUMENTS[0] $@', 'a b', 'ba a b'],
    ['no name', 'a b', 'no name\n\nARGUMENTS: a b'],
    ['$1', '$2 $1', '$2'],
    ['$9 is empty, $12 and $ARGUMENTSX stay', 'a', ' is empty, $12 and $ARGUMENTSX stay'],
  ])('fills the command %s with the arguments %s', async (body, given, text) => {
    await using vt = await boot({ ...claude, 'commands/say.md': body })
    expect(await called(vt, 'say', given)).toBe(text)
  })

  it('runs and reads what a Claude Code command names, through judged calls, and keeps arguments as plain words', async () => {
    await using vt = await boot({
      ...claude,
      'commands/look.md': 'Status: !`echo $1`\nFile: @a.txt @nowhere.md mail@a.txt\nGiven: $2',
    })
    const given = '"$(echo pwned); `id` \'x" "!`id` @.env"'
    expect(await called(vt, 'look', given)).toBe(
      "Status: $(echo pwned); `id` 'x\nFile: one\n @nowhere.md mail@a.txt\nGiven: !`id` @.env",
    )
  })

  it('runs and reads what a Gemini command names, in its syntax', async () => {
    await using vt = await boot({
      ...gemini,
      'commands/git/look.toml': "prompt = '''Costs $5 {{args}}: !{echo {{args}} \"{x}\"} @{a.txt}'''",
    })
    expect(await called(vt, 'git-look', "it's; id")).toBe("Costs $5 it's; id: it's; id {x} one")
  })

  it('runs nothing of a command that policies deny or ask about until a person agrees', async () => {
    await using vt = await boot({
      ...claude,
      'commands/drop.md': 'Before.\n!`curl http://127.0.0.1:1/x`\n!`touch made`',
    })
    expect(await called(vt, 'drop')).toMatch(/^VT_POLICY_NEEDS_APPROVAL .*/)
    expect(await vt.read('made')).toBeUndefined()
    const asked: string[] = []
    expect(await called(vt, 'drop', '', ({ reasons }) => (asked.push(...reasons), false))).toMatch(/^VT_POLICY_/)
    expect(await vt.read('made')).toBeUndefined()
    expect(asked.join(' ')).toContain('curl')
    await using denied = await boot(
      { ...claude, 'commands/drop.md': '!`touch made`' },
      { config: { policy: { deny: ['Bash(touch *)'] } } },
    )
    expect(await called(denied, 'drop')).toMatch(/^VT_POLICY_DENIED/)
  })

  it('shows the output and the failure of a program in a command and expands that output no further', async () => {
    await using vt = await boot({
      ...claude,
      'commands/fail.md': 'It says !`printf "!\\140id\\140 @a.txt\\n" ; ls nowhere-at-all`.',
    })
    expect(await called(vt, 'fail')).toMatch(/^It says !`id` @a\.txt\n+.*nowhere-at-all.*\n\(exit code \d\)\.$/)
  })
})

it('loads a command for a model as plain text and runs nothing, whatever the arguments are', async () => {
  await using vt = await boot({ ...claude, 'commands/look.md': 'Status: !`touch made` of $1 and @a.txt' })
  expect(await vt.kernel.call('load_skill', { name: 'look', arguments: 'x' }, { surface: 'agent' })).toMatchObject({
    ok: true,
    output: { instructions: 'Status: !`touch made` of x and @a.txt' },
    notices: [{ code: 'VT_SKILL_COMMAND_NOT_RUN' }],
  })
  expect(await vt.read('made')).toBeUndefined()
})

it('fills the prompts of a bundle with arguments by name', async () => {
  const manifest = {
    manifest_version: '0.2',
    name: 'pack',
    version: '1.0.0',
    server: { type: 'node', entry_point: 'x.js', mcp_config: { command: 'no-such-program' } },
    prompts: [
      {
        name: 'ask',
        description: 'Asks.',
        arguments: ['topic', 'tone'],
        text: 'About ${arguments.topic}, ${arguments.tone}; ${arguments.other}.',
      },
    ],
  }
  await using vt = await boot({ 'plugin.json/x': '', 'x.js': '', 'manifest.json': json(manifest) })
  expect(await called(vt, 'ask', '"the sea" calm')).toBe('About the sea, calm; ${arguments.other}.')
})
