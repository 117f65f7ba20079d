import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript, bootWords } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('lists all uses of a symbol in path order, in pages', async () => {
  const ws = await boot()
  const find = (input: object) => ws.call('unified_search', { action: 'references', symbol: 'Circle', ...input })
  expect(await find({})).toMatchObject({
    output: {
      total: 4,
      matches: [1, 3, 4, 2].map((line_number, index) => ({ path: index < 3 ? 'main.ts' : 'shapes.ts', line_number })),
    },
  })
  expect(await find({ max_results: 1, skip: 1 })).toMatchObject({
    output: { matches: [{ path: 'main.ts', line_number: 3 }], next: { input: { action: 'references', skip: 2 } } },
    text: expect.stringMatching(/2 more: skip=2$/),
  })
})

it('shortens the names of nested symbols that a server reports', async () => {
  const ws = hold(await bootWords('nested', { files: { 'a.words': 'one\ntwo\n' } }))
  const found = await ws.call('unified_search', { action: 'references', path: 'a.words', symbol: 'leaf' })
  expect(found).toMatchObject({
    error: { code: 'VT_SYMBOL_AMBIGUOUS', message: expect.stringMatching(/\.leaf in a\.words:1/) },
  })
  expect(JSON.stringify(found).length).toBeLessThan(5_000)
})

it('finds no symbol by a name that ends with a dot', async () => {
  const ws = hold(await bootWords('nested', { files: { 'a.words': 'one' } }))
  expect(
    await ws.call('unified_search', { action: 'references', path: 'a.words', line: 1, symbol: 'one.' }),
  ).toMatchObject({ error: { code: 'VT_SYMBOL_NOT_FOUND' } })
})

it('finds uses in projects that refer to the one of the symbol', async () => {
  const config = (more: object = {}) => JSON.stringify({ compilerOptions: { composite: true, strict: true }, ...more })
  const ws = hold(
    await bootTypeScript({
      files: {
        'tsconfig.json': JSON.stringify({ files: [], references: [{ path: './one' }] }),
        'one/tsconfig.json': config(),
        'one/one.ts': 'export const shared = 1\n',
        'two/tsconfig.json': config({ references: [{ path: '../one' }] }),
        'two/two.ts': "import { shared } from '../one/one'\nexport const twice = shared * 2\n",
      },
    }),
  )
  expect(
    await ws.call('unified_search', { action: 'references', path: 'one/one.ts', line: 1, symbol: 'shared' }),
  ).toMatchObject({ output: { total: 3 } })
})
