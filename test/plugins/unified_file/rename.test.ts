import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript, bootWords, listNotices } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

it('renames a symbol in all files as one change', async () => {
  const ws = hold(
    await bootTypeScript({
      files: {
        ...shapesProject,
        'crlf.ts': "import { Circle } from './shapes'\r\n// \u{1F600}\r\nexport const last = new Circle()",
      },
    }),
  )
  const rename = (input: object) =>
    ws.call('unified_file', { action: 'rename', symbol: 'Circle', new_name: 'Disc', ...input })
  expect(await rename({ dry_run: true })).toMatchObject({ output: { total: 6, files: 3, dry_run: true } })
  expect(await ws.read('shapes.ts')).toContain('class Circle')
  const result = await rename({})
  expect(result).toMatchObject({
    output: { total: 6, files: 3, changes: [{ path: expect.any(String), op: 'update' }, {}, {}] },
    text: expect.stringMatching(/^renamed 6 places in 3 files\n/),
  })
  expect(await ws.read('crlf.ts')).toBe(
    "import { Disc } from './shapes'\r\n// \u{1F600}\r\nexport const last = new Disc()",
  )
  expect(await ws.read('main.ts')).not.toContain('Circle')
  expect(listNotices(result, 'VT_DIAGNOSTICS_NEW')).toEqual([])
  expect(await ws.call('unified_search', { action: 'diagnostics' })).toMatchObject({ output: { total: 0 } })
})

it('judges every changed file as a patch, and changes nothing where one is denied', async () => {
  const ws = hold(
    await bootTypeScript({
      files: shapesProject,
      config: { diagnostics: { wait_ms: 20_000 }, policy: { deny: ['Edit(main.ts)'] } },
    }),
  )
  expect(await ws.call('unified_file', { action: 'rename', symbol: 'Circle', new_name: 'Disc' })).toMatchObject({
    error: { code: 'VT_POLICY_DENIED' },
  })
  expect(await ws.read('shapes.ts')).toBe(shapesProject['shapes.ts'])
})

it('shows the errors that a rename adds', async () => {
  const ws = hold(await bootTypeScript({ files: shapesProject }))
  const result = await ws.call('unified_file', { action: 'rename', symbol: 'Circle', new_name: 'Square' })
  expect(listNotices(result, 'VT_DIAGNOSTICS_NEW')[0]).toContain('Duplicate identifier')
})

it.each([
  ['outside', 'the server would change file:///etc/hosts'],
  ['overlap', 'edits of a.words overlap'],
  ['beyond', 'an edit lies outside of a.words'],
  ['moves', 'the server would also rename a file'],
])('refuses the edit of a server that is %s', async (mode, reason) => {
  const ws = hold(await bootWords(mode, { files: { 'a.words': 'word and word\n' } }))
  expect(await ws.call('unified_file', { action: 'rename', path: 'a.words', line: 1, new_name: 'term' })).toMatchObject(
    {
      error: { code: 'VT_RENAME_REFUSED', message: `Nothing was renamed: ${reason}.` },
    },
  )
  expect(await ws.read('a.words')).toBe('word and word\n')
})

it('refuses the edit of a server for a text that has changed in the meantime', async () => {
  const ws = hold(await bootWords('late', { files: { 'a.words': 'word\n' } }))
  let text = 'word\n'
  const timer = setInterval(() => {
    text = `x ${text}`
    writeFileSync(join(ws.home, 'draft'), text)
    renameSync(join(ws.home, 'draft'), join(ws.root, 'a.words'))
  }, 30)
  const result = await ws.call('unified_file', { action: 'rename', path: 'a.words', line: 1, new_name: 'term' })
  clearInterval(timer)
  expect(result).toMatchObject({
    error: { code: 'VT_RENAME_REFUSED', message: expect.stringContaining('a.words was changed in the meantime') },
  })
  expect(await ws.read('a.words')).toBe(text)
})
