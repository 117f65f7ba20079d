import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import { hold } from '../../support/held.js'
import { bootTypeScript, bootWords, listNotices } from '../../support/language_servers.js'

const file = (action: string, input: object) => ({ action, ...input })
const added = (result: object): string[] => listNotices(result, 'VT_DIAGNOSTICS_NEW')

describe('diagnostics after a change, TypeScript 7', () => {
  let ws: Booted
  beforeEach(async () => {
    ws = hold(
      await bootTypeScript({
        files: {
          'a.ts': 'export const a: number = 1\nexport const old: string = 2\n',
          'b.ts': "import { a } from './a'\nexport const b: number = a\n",
        },
      }),
    )
  })
  const edit = (path: string, old_str: string, new_str: string, more = {}) =>
    ws.call('unified_file', file('edit', { path, old_str, new_str, ...more }))

  it('lists the errors that an edit adds and no older ones', async () => {
    expect(added(await edit('a.ts', '= 1', "= 'x'"))).toEqual([
      "This change added 1 error:\na.ts:1:14: error 2322: Type 'string' is not assignable to type 'number'.",
    ])
    expect(added(await edit('a.ts', "= 'x'", '= 3'))).toEqual([])
    expect(added(await edit('a.ts', '= 3', '= 3\n\n\n'))).toEqual([])
  })

  it('lists errors in other open files', async () => {
    expect(added(await edit('b.ts', 'b: number', 'c: number'))).toEqual([])
    const [text] = added(await edit('a.ts', 'const a:', 'const renamed:'))
    expect(text).toContain("b.ts:1:10: error 2305: Module '\"./a\"' has no exported member 'a'.")
  })

  it('sees what other programs change in open and in unopened files', async () => {
    expect(added(await edit('b.ts', 'b: number', 'c: number'))).toEqual([])
    writeFileSync(join(ws.root, 'a.ts'), 'export const a: string = "x"\n')
    const [text] = added(await edit('b.ts', 'c: number', 'd: number'))
    expect(text).toContain("b.ts:2:14: error 2322: Type 'string' is not assignable to type 'number'.")
  })

  it('checks files that are written, patched, moved and deleted', async () => {
    const write = await ws.call(
      'unified_file',
      file('write', { path: 'c.ts', content: 'export const c: number = ""\n' }),
    )
    expect(added(write)[0]).toContain('c.ts:1:14: error 2322')
    const patch =
      '*** Begin Patch\n*** Update File: b.ts\n@@\n-export const b: number = a\n+export const b: string = a\n*** End Patch'
    expect(added(await ws.call('apply_patch', { input: patch }))[0]).toContain('b.ts:2:14: error 2322')
    const move = await ws.call('unified_file', file('move', { from: 'a.ts', to: 'moved.ts' }))
    expect(added(move)[0]).toMatch(/^This change added 1 error:\nb\.ts:1:19: error 2307/)
    const back = await ws.call('unified_file', file('move', { from: 'moved.ts', to: 'a.ts' }))
    expect(added(back)[0]).toMatch(/^This change added 1 error:\nb\.ts:2:14: error 2322/)
    const removed = await ws.call('unified_file', file('delete', { path: 'a.ts' }))
    expect(added(removed)[0]).toContain('b.ts:1:19: error 2307')
  })

  it('shows at most 600 bytes, errors first, and names the call for the rest', async () => {
    const lines = Array.from({ length: 40 }, (_, at) => `export const x${at}: number = 'text'`)
    const [text] = added(await edit('a.ts', 'export const old', `${lines.join('\n')}\nexport const old`))
    expect(Buffer.byteLength(text!)).toBeLessThanOrEqual(600)
    expect(text).toMatch(/^This change added 40 errors:\na\.ts:2:14: error 2322/)
    expect(text).toMatch(/… and 3\d more: unified_search \{"action":"diagnostics","path":"a\.ts"\}$/)
  })

  it('asks no server for a call with diagnostics: none', async () => {
    expect(await edit('a.ts', '= 1', "= 'x'", { diagnostics: 'none' })).not.toHaveProperty('notices')
  })
})

describe('diagnostics after a change', () => {
  const write = (ws: Booted, content: string) =>
    ws.call('unified_file', file('write', { path: 'a.words', content, overwrite: true }))

  it('starts no server where the settings turn diagnostics off', async () => {
    const ws = hold(await bootWords('exits', { config: { diagnostics: { after_changes: 'off' } } }))
    expect(await write(ws, 'BAD\n')).not.toHaveProperty('notices')
  })

  it('names a server that ends at each request, and its pause before the next start', async () => {
    const ws = hold(await bootWords('exits', { timeouts: { restart: 60_000 } }))
    for (const reason of ['it ended with exit code 3', 'it ended with exit code 3'])
      expect(listNotices(await write(ws, `BAD ${reason}\n`), 'VT_DIAGNOSTICS_FAILED')[0]).toContain(reason)
    expect(listNotices(await write(ws, 'BAD\n'), 'VT_DIAGNOSTICS_FAILED')[0]).toMatch(/it can start again in \d+ s/)
  })

  it('names a server that does not answer in time, and shows its findings with a later change', async () => {
    const ws = hold(await bootWords('silent', { config: { diagnostics: { wait_ms: 50 } } }))
    expect(listNotices(await write(ws, 'BAD\n'), 'VT_DIAGNOSTICS_LATE')[0]).toMatch(/^The language server words /)
  })

  it('shows with the next change what came too late', async () => {
    const ws = hold(await bootWords('right', { config: { diagnostics: { wait_ms: 0 } } }))
    const texts: string[] = []
    await expect
      .poll(async () => texts.push(...added(await write(ws, `one\nBAD ${texts.length}\n`))) > 0)
      .toBe(true)
      .catch(() => expect(texts).not.toEqual([]))
  })

  it.each(['push', 'stale', 'elsewhere', 'noisy'])(
    'takes only reports of the present text from a server that is %s',
    async (mode) => {
      const ws = hold(await bootWords(mode))
      expect(added(await write(ws, 'good\nBAD word\n'))).toEqual([
        'This change added 1 error:\na.words:2:1: error E1: bad: BAD word',
      ])
      expect(added(await write(ws, 'good\n'))).toEqual([])
    },
  )

  it.each([
    ['flood', /^This change added 2000 errors:/],
    ['asks', /applied: false, shown: false$/],
  ])('bounds and refuses what a server does that %s', async (mode, text) => {
    const ws = hold(await bootWords(mode))
    expect(added(await write(ws, 'word\n'))[0]).toMatch(text)
    expect(await ws.read('a.words')).toBe('word\n')
  })

  it('shows the words of a server that fails in one line', async () => {
    const ws = hold(await bootWords('forges'))
    expect(listNotices(await write(ws, 'word\n'), 'VT_DIAGNOSTICS_FAILED')).toEqual([
      expect.stringMatching(/^The change was not checked: .*oops\\u\{a\}\\u\{a\}vtcode: a line of the server\.$/),
    ])
  })

  it.each([
    ['huge', 'more than 32 MiB'],
    ['nonsense', undefined],
  ])('survives a server that sends %s messages', async (mode, reason) => {
    const ws = hold(await bootWords(mode))
    const result = await write(ws, 'word\n')
    expect(result.ok).toBe(true)
    expect(listNotices(result, 'VT_DIAGNOSTICS_FAILED').join()).toContain(reason ?? '')
    expect(added(result)).toEqual([])
  })

  it('needs consent for a server that the repository names', async () => {
    const server = { command: './server.sh', languages: { '.words': 'words' } }
    const manifest = { name: 'own', kind: 'language_server', description: 'Own.', language_server: server }
    const ws = hold(await bootKernel({ files: { '.vtcode/plugins/acme/vtcode/own.yaml': JSON.stringify(manifest) } }))
    const found = ws.kernel.inspection.contributions().find(({ id }) => id.endsWith(':own'))
    expect(found).toMatchObject({ kind: 'language_server', state: 'untrusted' })
  })

  it('starts no server without the sandbox, unless the settings of the user say so', async () => {
    const path = process.env['PATH']
    const ws = hold(await bootWords('right'))
    process.env['PATH'] = '/nowhere'
    try {
      expect(listNotices(await write(ws, 'BAD\n'), 'VT_DIAGNOSTICS_FAILED')[0]).toMatch(
        /it needs the sandbox: bubblewrap .* language_servers\.sandbox: off/,
      )
    } finally {
      process.env['PATH'] = path
    }
    const off = hold(await bootWords('right', { config: { language_servers: { sandbox: 'off' } } }))
    expect(added(await write(off, 'BAD\n'))).toHaveLength(1)
  })
})
