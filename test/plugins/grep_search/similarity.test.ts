import { bootKernel, type Files } from 'vtcode/test'
import { expect, it } from 'vitest'
import { asked } from '../../support/asked.js'

const files: Files = {
  'src/ref.ts':
    "import { join } from 'node:path'\nexport class Greeter {\n  greet() { return join('a') }\n}\nexport function salute() {}\ninterface Shape {}\n",
  'src/near.ts': 'const one = new Greeter()\none.greet()\nsalute()\none.greet()\n',
  'src/far.ts': 'salute()\n// Greeters are not meant\n',
  'src/none.ts': 'nothing\n',
  'out/x.ts': 'salute()\n',
  '.gitignore': 'out/\n',
  'prose.txt': 'plain words\n',
}
const similar = asked('similarity')

it('ranks files by the names that they share with the reference and shows where', async () => {
  await using ws = await bootKernel({ files })
  const result = await similar(ws, { reference_file: 'src/ref.ts', content_type: 'functions' })
  expect(result.files).toEqual([
    { path: 'src/near.ts', score: 1, shared: ['greet', 'salute'] },
    { path: 'src/far.ts', score: 0.5, shared: ['salute'] },
  ])
  expect(result.matches).toEqual([
    { file: 'src/near.ts', line_number: 2, text: 'one.greet()' },
    { file: 'src/near.ts', line_number: 3, text: 'salute()' },
    { file: 'src/far.ts', line_number: 1, text: 'salute()' },
  ])
  expect(result.text).toBe(
    'src/near.ts (1): greet, salute\n  2:one.greet()\n  3:salute()\nsrc/far.ts (0.5): salute\n  1:salute()\n2 files of 2 names',
  )
})
it('compares types, imports or all names, as content_type says', async () => {
  await using ws = await bootKernel({ files })
  const paths = async (content_type: string) =>
    (await similar(ws, { reference_file: 'src/ref.ts', content_type })).files.map(({ path }: any) => path)
  expect(await paths('structure')).toEqual(['src/near.ts'])
  expect(await paths('imports')).toEqual([])
  expect(await paths('all')).toEqual(['src/near.ts', 'src/far.ts'])
  expect((await similar(ws, { reference_file: 'src/ref.ts', max_results: 1 })).truncated).toBe(true)
})
it('refuses a reference file without names, a missing one and one outside', async () => {
  await using ws = await bootKernel({ files })
  const refused = async (input: object) => {
    const result = await ws.call('grep_search/similarity', { ...input })
    return result.ok ? 'ok' : result.error.code
  }
  expect(await refused({ reference_file: 'src/none.ts' })).toBe('VT_SEARCH_NO_REFERENCE')
  expect(await refused({ reference_file: 'prose.txt' })).toBe('VT_SEARCH_NO_REFERENCE')
  expect(await refused({ reference_file: 'gone.ts' })).toBe('VT_PATH_NOT_FOUND')
  expect(await refused({ reference_file: '../out.ts' })).toBe('VT_PATH_OUTSIDE')
  expect(await refused({})).toBe('VT_INPUT_MISSING')
})
