import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import { hold } from '../../support/held.js'
import { bootTypeScript, bootWords, listNotices } from '../../support/language_servers.js'

it('lists the diagnostics of a folder in path order, in pages', async () => {
  const ws = hold(
    await bootTypeScript({
      files: { 'b.ts': 'export const b: number = ""\n', 'a/a.ts': 'export const a: number = ""\nlet x = y\n' },
    }),
  )
  const list = (input: object) => ws.call('unified_search', { action: 'diagnostics', ...input })
  expect(await list({})).toMatchObject({
    output: {
      total: 3,
      files: 2,
      truncated: false,
      matches: [
        { path: 'a/a.ts', line_number: 1, column: 14, severity: 'error', code: '2322' },
        {
          path: 'a/a.ts',
          line_number: 2,
          column: 9,
          severity: 'error',
          code: '2304',
          message: "Cannot find name 'y'.",
        },
        { path: 'b.ts', line_number: 1 },
      ],
    },
    text: expect.stringMatching(/^a\/a\.ts:1:14: error 2322: .*\n.*\nb\.ts:1:14: .*\n3 errors in 2 files\.$/),
  })
  expect(await list({ max_results: 2 })).toMatchObject({
    output: { truncated: true, next: { input: { action: 'diagnostics', max_results: 2, skip: 2 } } },
    text: expect.stringMatching(/1 more: skip=2$/),
  })
  writeFileSync(join(ws.root, 'b.ts'), 'export const b: number = 1\n')
  expect(await list({ path: 'b.ts' })).toMatchObject({ output: { total: 0 }, text: 'No errors or warnings in 1 file.' })
})

it('names what is missing where no language server serves a file', async () => {
  const ws = hold(await bootKernel({ files: { 'a.ts': '', 'b.xyz': '' }, env: { PATH: '/nowhere' } }))
  for (const [path, reason] of [
    ['a.ts', 'tsc or typescript-language-server is neither in the project nor in PATH'],
    ['b.xyz', 'no definition serves files of this name'],
    ['.', 'tsc or typescript-language-server is neither in the project nor in PATH'],
  ] as const)
    expect(await ws.call('unified_search', { action: 'diagnostics', path })).toMatchObject({
      error: { code: 'VT_LANGUAGE_SERVER_MISSING', message: expect.stringContaining(reason) },
    })
})

it('serves no file where the settings disable language servers', async () => {
  const ws = hold(
    await bootWords('right', { files: { 'a.words': 'BAD' }, config: { language_servers: { enabled: false } } }),
  )
  expect(await ws.call('unified_search', { action: 'diagnostics', path: 'a.words' })).toMatchObject({
    error: {
      code: 'VT_LANGUAGE_SERVER_MISSING',
      message: expect.stringContaining('language_servers.enabled is false'),
    },
  })
})

it('reports a server that ends instead of an empty list', async () => {
  const ws = hold(await bootWords('exits', { files: { 'a.words': 'BAD' } }))
  expect(await ws.call('unified_search', { action: 'diagnostics', path: 'a.words' })).toMatchObject({
    error: { code: 'VT_LANGUAGE_SERVER_FAILED', message: expect.stringContaining('exit code 3'), retryable: true },
  })
})

it('names the files that no language server serves', async () => {
  const ws = hold(await bootWords('right', { files: { 'a.words': 'BAD', 'b.lost': '' } }))
  const result = await ws.call('unified_search', { action: 'diagnostics' })
  expect(result).toMatchObject({ output: { total: 1 } })
  expect(listNotices(result, 'VT_DIAGNOSTICS_PARTIAL')[0]).toContain('b.lost')
})

it('keeps files that rules hide from the server', async () => {
  const ws = hold(
    await bootWords('right', {
      files: { 'a.words': 'BAD', 'secret.words': 'BAD key' },
      config: { policy: { deny: ['Read(secret.words)'] } },
    }),
  )
  const result = await ws.call('unified_search', { action: 'diagnostics' })
  expect(JSON.stringify(result)).not.toContain('key')
  expect(result).toMatchObject({ output: { total: 1 } })
})
