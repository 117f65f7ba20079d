import { expect, it } from 'vitest'
import { astGrepLibrary, languageNamed, scriptItems, styleItems } from '../../../../build/plugins/lib/syntax/index.js'

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('')

it.each([
  ['a script of thousands of statements', 'ts', lines(12_000, (at) => `export let a${at}=1`), scriptItems, 12_000],
  ['a style sheet of thousands of rules', 'css', lines(12_000, (at) => `.a${at}{top:0}`), styleItems, 12_000],
])('%s is outlined in pieces, between which others go on', async (_, id, text, itemsOf, count) => {
  const language = languageNamed(id)!
  const root = (await (await astGrepLibrary())!.parseAsync(language.title, text)).root()
  let turns = 0
  const turn = (): void => {
    turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  const items = await itemsOf(root, text, language)
  clearImmediate(next)
  expect(items).toHaveLength(count)
  expect(turns).toBeGreaterThan(1)
})
