import { expect, it } from 'vitest'
import {
  loadAstGrepLibrary,
  languageByName,
  outlineScript,
  outlineStyles,
} from '../../../../build/plugins/lib/syntax/index.js'

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('')

it.each([
  ['a script of thousands of statements', 'ts', lines(12_000, (at) => `export let a${at}=1`), outlineScript, 12_000],
  ['a style sheet of thousands of rules', 'css', lines(12_000, (at) => `.a${at}{top:0}`), outlineStyles, 12_000],
])('outlines %s in pieces and lets other work run between them', async (_, id, text, itemsOf, count) => {
  const language = languageByName(id)!
  const root = (await (await loadAstGrepLibrary())!.parseAsync(language.title, text)).root()
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
