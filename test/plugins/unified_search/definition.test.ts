import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript, bootWords, listNotices } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('finds the definition of a symbol by position, by line and by name', async () => {
  const ws = await boot()
  const find = (input: object) => ws.call('unified_search', { action: 'definition', ...input })
  const circle = { output: { matches: [{ path: 'shapes.ts', line_number: 2, column: 14 }], total: 1 } }
  expect(await find({ path: 'main.ts', line: 3, column: 32 })).toMatchObject(circle)
  expect(await find({ path: 'main.ts', line: 3, symbol: 'Circle' })).toMatchObject(circle)
  expect(await find({ symbol: 'Circle' })).toMatchObject({
    ...circle,
    text: 'shapes.ts:2: export class Circle implements Shape { area() { return 1 } }\n1 definition in 1 file.',
  })
  expect(await find({ symbol: 'Circle.area' })).toMatchObject({ output: { matches: [{ line_number: 2, column: 40 }] } })
})

it('lists the candidates of an ambiguous name, and refuses an unknown one', async () => {
  const ws = await boot()
  const find = (input: object) => ws.call('unified_search', { action: 'definition', ...input })
  expect(await find({ symbol: 'area' })).toMatchObject({
    error: {
      code: 'VT_SYMBOL_AMBIGUOUS',
      message: expect.stringMatching(/Shape\.area in shapes\.ts:1.*Circle\.area in shapes\.ts:2/),
    },
  })
  expect(await find({ symbol: 'Nothing' })).toMatchObject({ error: { code: 'VT_SYMBOL_NOT_FOUND' } })
  expect(await find({ path: 'main.ts', line: 900 })).toMatchObject({ error: { code: 'VT_SYMBOL_NOT_FOUND' } })
  expect(await find({ path: 'main.ts' })).toMatchObject({ error: { code: 'VT_INPUT_MISSING' } })
})

it('names the candidates of all files if no file is given', async () => {
  const text = (name: string) => `export class ${name} {\n  area() {}\n}\n`
  const ws = hold(await bootTypeScript({ files: { 'a.ts': text('A'), 'b.ts': text('B') } }))
  const find = (input: object) => ws.call('unified_search', { action: 'definition', symbol: 'area', ...input })
  expect(await find({})).toMatchObject({
    error: {
      code: 'VT_SYMBOL_AMBIGUOUS',
      message: "'area' is the name of 2 symbols: A.area in a.ts:2, B.area in b.ts:2.",
    },
  })
  expect(await find({ path: 'b.ts' })).toMatchObject({ output: { matches: [{ path: 'b.ts', line_number: 2 }] } })
  expect(await find({ symbol: 'A.area' })).toMatchObject({ output: { matches: [{ path: 'a.ts', line_number: 2 }] } })
})

it('counts columns in UTF-16 units and keeps line ends', async () => {
  const ws = await boot()
  await ws.write(
    'wide.ts',
    "import { Circle } from './shapes'\r\nexport const wide = ['\u{1F600}\u{1F600}', new Circle()]\r\n",
  )
  expect(
    await ws.call('unified_search', { action: 'definition', path: 'wide.ts', line: 2, symbol: 'Circle' }),
  ).toMatchObject({ output: { matches: [{ path: 'shapes.ts', line_number: 2 }] } })
})

it('leaves out places outside of the workspace', async () => {
  const ws = hold(await bootWords('right', { files: { 'a.words': 'word' } }))
  const result = await ws.call('unified_search', { action: 'definition', path: 'a.words', line: 1 })
  expect(result).toMatchObject({ output: { matches: [], total: 0 } })
  expect(listNotices(result, 'VT_PLACES_OUTSIDE')).toEqual(['1 definition outside of the workspace left out.'])
})

it('reports what a server does not offer', async () => {
  const ws = hold(await bootWords('right', { files: { 'a.words': 'word' } }))
  expect(await ws.call('unified_search', { action: 'hover', path: 'a.words', line: 1 })).toMatchObject({
    error: { code: 'VT_LANGUAGE_SERVER_FAILED', message: expect.stringContaining('it does not offer this') },
  })
})
