import { execFileSync } from 'node:child_process'
import { mkdir, symlink, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Diagnostic } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type Files } from 'vtcode/test'

const json = JSON.stringify
const agent = json({ $schema: 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json', name: 'pack' })
const markers: [string, string][] = [
  ['Claude Code', '.claude-plugin/plugin.json'],
  ['Codex', '.codex-plugin/plugin.json'],
  ['Gemini', 'gemini-extension.json'],
  ['Agent Plugins', 'plugin.json'],
]

interface Made extends AsyncDisposable {
  vt: Booted
  root: string
  told(): Diagnostic[]
}
/** Boots a package with these files and those that `lay` adds. */
async function boot(files: Files, lay: (root: string) => Promise<unknown> = async () => {}): Promise<Made> {
  const place = await tempWorkspace(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`pack/${path}`, text])),
  )
  const root = join(place.root, 'pack')
  await lay(root)
  const vt = await bootKernel({ manifests: [root] })
  const told = () =>
    [...vt.kernel.inspection.skills().diagnostics, ...vt.kernel.diagnostics()].filter(({ files }) =>
      files.some((file) => file.startsWith(root)),
    )
  return {
    vt,
    root,
    told,
    [Symbol.asyncDispose]: async () => void (await Promise.all([vt, place].map((one) => one[Symbol.asyncDispose]()))),
  }
}
const own = ({ vt }: Made): string[] =>
  [
    ...vt.kernel.inspection.contributions().map(({ id }) => id),
    ...vt.kernel.inspection.skills().all.map(({ id }) => id),
  ]
    .filter((id) => id.startsWith('pack:'))
    .sort()

describe.each(markers)('package of %s', (_, marker) => {
  it.each([
    ['is nested deeply', '{"a":'.repeat(101) + '1' + '}'.repeat(101), /nested more than/],
    ['reaches for a prototype', '{"name":"pack","__proto__":{"polluted":true}}', /'__proto__' is not allowed/],
    ['is a list', '[]', /not an object/],
    ['is empty', '', /JSON/],
    ['is no text', Buffer.from([0xff, 0xfe, 0, 1]), /JSON/],
    ['is huge', ' '.repeat(300_000), /larger than 256 KiB/],
  ])('refuses a package whose manifest %s, names it and loads the others', async (_, text, reason) => {
    await using made = await boot({
      [marker]: text,
      'skills/s/SKILL.md': '---\nname: s\ndescription: S.\n---\n',
      '.mcp.json': json({ s: { command: 'true' } }),
    })
    expect(own(made)).toEqual([])
    expect(
      made
        .told()
        .map(({ message }) => message)
        .join('\n'),
    ).toMatch(reason)
    expect(({} as { polluted?: true }).polluted).toBeUndefined()
    matches(await made.vt.call('unified_search', { action: 'list' }), { ok: true })
  })
})

const parts: Record<string, string[]> = {
  '.claude-plugin/plugin.json': [
    '.mcp.json',
    'hooks/hooks.json',
    'commands/a.md',
    'skills/s/SKILL.md',
    'agents/a.md',
    'bin/x',
  ],
  'gemini-extension.json': ['hooks/hooks.json', 'commands/a.toml', 'policies/a.toml', 'skills/s/SKILL.md', 'GEMINI.md'],
  'plugin.json': ['mcp.json', 'skills/s/SKILL.md', 'dev.vtcode/hooks.json', 'dev.vtcode/a.yaml'],
}
const forms: Record<string, (file: string) => Promise<unknown>> = {
  pipe: async (file) => execFileSync('mkfifo', [file]),
  device: (file) => symlink('/dev/null', file),
  'link out': (file) => symlink('/etc/passwd', file),
  'huge file': async (file) => (execFileSync('touch', [file]), truncate(file, 200 * 1_048_576)),
  folder: (file) => mkdir(file),
}
it.each(Object.keys(parts).flatMap((marker) => Object.keys(forms).map((form) => [marker, form] as const)))(
  'skips in a package with %s each part that is a %s and loads the intact one',
  async (marker, form) => {
    await using made = await boot(
      {
        [marker]: marker === 'plugin.json' ? agent : json({ name: 'pack' }),
        'skills/good/SKILL.md': '---\nname: good\ndescription: Good.\n---\n',
      },
      async (root) => {
        for (const path of parts[marker]!) {
          await mkdir(dirname(join(root, path)), { recursive: true })
          await forms[form]!(join(root, path))
        }
      },
    )
    expect(
      own(made).filter(
        (id) => made.vt.kernel.inspection.contributions().find((one) => one.id === id)?.state !== 'invalid',
      ),
    ).toEqual(['pack:good'])
    expect(
      made
        .told()
        .map(({ message }) => message)
        .join('\n'),
    ).not.toMatch(/root:x:/)
    matches(await made.vt.call('unified_search', { action: 'list' }), { ok: true })
  },
)

it("drops server names that are empty, too long or hide characters and reads 'toString' as a plain name", async () => {
  const names = ['', 'a\u202eb', 'n'.repeat(5_000), 'toString', '../../x']
  const server = { command: 'no-such-program', args: ['${user_config.valueOf}', '${toString}'] }
  await using made = await boot({
    '.claude-plugin/plugin.json': json({ name: 'pack', userConfig: { valueOf: {} } }),
    '.mcp.json': json({ mcpServers: Object.fromEntries(names.map((name) => [name, server])) }),
  })
  expect(own(made)).toEqual(['pack:.._.._x', 'pack:toString'])
  expect(made.told().filter(({ code }) => code === 'VT_FORMAT_INVALID')).toHaveLength(3)
})

it('stops at a limit in a package with thousands of parts', async () => {
  const count = (length: number, of: (i: number) => [string, unknown]): object =>
    Object.fromEntries(Array.from({ length }, (_, i) => of(i)))
  const hooks = count(2_000, (i) => [`E${i}`, [{ hooks: [] }]])
  await using made = await boot({
    '.claude-plugin/plugin.json': json({ name: 'pack' }),
    'hooks/hooks.json': json({ hooks }),
    '.mcp.json': json({ mcpServers: count(2_000, (i) => [`s${i}`, { command: 'no-such-program' }]) }),
  })
  expect(made.vt.kernel.inspection.contributions().filter(({ id }) => id.startsWith('pack:'))).toHaveLength(500)
  expect(
    made.told().filter(({ code }) => code === 'VT_MANIFEST_LIMIT' || code === 'VT_FORMAT_UNSUPPORTED'),
  ).toHaveLength(2)
})

it('stops at links that form a circle or leave the package and reads nothing through them', async () => {
  const manifest = json({
    name: 'pack',
    skills: ['./out', './loop', '../..'],
    commands: ['./commands', './abs.md'],
    agents: '../../..',
  })
  await using made = await boot(
    { '.claude-plugin/plugin.json': manifest, 'commands/good.md': 'Good.' },
    async (root) => {
      for (const [path, target] of [
        ['out', '/etc'],
        ['loop', '.'],
        ['abs.md', '/etc/passwd'],
        ['skills', '../..'],
        ['agents', '/'],
        ['bin', '/'],
        ['commands/device.md', '/dev/null'],
        ['commands/deep', '..'],
      ])
        await symlink(target!, join(root, path!))
    },
  )
  expect(own(made)).toEqual(['pack:good'])
  expect(
    made
      .told()
      .map(({ message }) => message)
      .join('\n'),
  ).toMatch(/out of the package/)
})
