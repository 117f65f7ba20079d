import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { harness, scene, type Scene } from '../../../support/inside.js'
import { layouts, type Layout } from '../../../support/layouts.js'
import { call } from '../../../support/peer.js'
import { vtcode } from '../../../support/program.js'
import { tempWorkspace } from 'vtcode/test'

function writeAll(folder: string, files: Record<string, string> = {}): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
const words = (text: string): string[] => text.match(/\b(?:ONE|TWO|THREE)\b|\.cursor\/rules\/db\.mdc/g) ?? []

async function run({ files, home, settings, touch, command }: Layout): Promise<Scene & { code: string }> {
  const read = touch === undefined ? [] : [call('unified_file', { action: 'read', path: touch })]
  const ran = command === undefined ? [] : [call('unified_exec', { action: 'run', command })]
  const toolCalls = [...read, ...ran]
  const s = await scene([...(toolCalls.length > 0 ? [{ toolCalls }] : []), { content: 'ok' }], {
    settings: { agent: { model: 'peer/m', ...settings } },
  })
  writeAll(s.booted.root, files)
  writeAll(s.booted.home, home)
  const { outcome_code: code } = await s.run('go')
  return Object.assign(s, { code })
}

/** Returns the prompt of a start in a folder of a repository. */
async function previewFrom(folder: string, files: Record<string, string>): Promise<string> {
  await using made = await tempWorkspace(files)
  writeAll(made.home, {
    '.vtcode/vtcode.config.json': JSON.stringify({
      custom_providers: [{ name: 'p', api_format: 'openai-chat', base_url: 'http://127.0.0.1:1/v1', models: ['m'] }],
      agent: { model: 'p/m' },
    }),
  })
  const how = { process: true, cwd: join(made.root, folder) }
  const { code, stdout, stderr } = await vtcode(made, ['exec', '--dry-run', 'go'], how)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

describe('instruction files of other programs', () => {
  it.each(layouts.map((row) => [`${row.from}: ${row.layout}`, row] as const))('follows %s', async (_, row) => {
    if (row.workspace !== undefined) {
      const shown = words(await previewFrom(row.workspace, row.files ?? {}))
      return expect(shown).toEqual(row.first)
    }
    const s = await run(row)
    expect(s.code).toBe('success')
    const prompt = s.peer.bodies[0].messages[0].content as string
    expect(words(prompt)).toEqual(row.first ?? [])
    const later = (s.peer.bodies.at(-1).messages as { content: string }[])
      .slice(1)
      .map(({ content }) => content)
      .join('\n')
    expect(words(later)).toEqual(row.later ?? [])
    for (const word of row.absent ?? []) expect(prompt + later).not.toContain(word)
    const unused = harness(s.events, 'instructions_unused').map(({ message }) => message as string)
    expect(unused).toEqual((row.unused ?? []).map((pattern) => expect.stringMatching(pattern)))
  })

  it('reads the file of the folder below the root that the person started in, once', async () => {
    const prompt = await previewFrom('sub/deep', {
      '.git/HEAD': 'ref: refs/heads/main\n',
      'AGENTS.md': 'ONE',
      'sub/AGENTS.md': 'TWO',
      'sub/deep/AGENTS.md': 'THREE',
      'other/AGENTS.md': 'FOUR',
    })
    expect(words(prompt)).toEqual(['ONE', 'TWO', 'THREE'])
    expect(prompt).not.toContain('FOUR')
  })

  it('lists each layout on the page', () => {
    const page = readFileSync(new URL('../../../../docs/coming-from.md', import.meta.url), 'utf8')
    const rows = layouts.map(({ from, layout, here }) => `| ${from} | ${layout} | ${here} |`)
    expect(rows.filter((row) => !page.includes(row))).toEqual([])
    expect(layouts.length).toBeGreaterThanOrEqual(24)
  })
})
