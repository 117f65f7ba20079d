import { describe, expect, it } from 'vitest'
import {
  languageByName,
  languageByPath,
  languages,
  createPositions,
} from '../../../../build/plugins/lib/syntax/index.js'
import { fc } from '../../../support/property.js'

it('computes byte and code point positions for lines of any length', () => {
  const unit = fc.constantFrom('a', 'é', '技', '😀', '\n', 'x'.repeat(100), '😀'.repeat(70))
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 12 }).map((parts) => parts.join('')),
      (text) => {
        const { byte, column } = createPositions(text)
        let [index, line, start] = [0, 0, 0]
        for (const char of [...Array.from(text), '']) {
          expect(byte(index)).toBe(Buffer.byteLength(text.slice(0, index)))
          expect(column(line, index - start)).toBe(Array.from(text.slice(start, index)).length)
          index += char.length
          if (char === '\n') [line, start] = [line + 1, index]
        }
      },
    ),
  )
})

describe('syntax languages', () => {
  it('maps each name and ending to one language in any case', () => {
    const names = languages.flatMap(({ id, aliases }) => [id, ...aliases])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    const endings = languages.flatMap(({ extensions }) => extensions)
    expect(endings.filter((ending, index) => endings.indexOf(ending) !== index)).toEqual([])
    for (const language of languages) {
      for (const name of [language.id, ...language.aliases]) expect(languageByName(name.toUpperCase())).toBe(language)
      for (const ending of language.extensions)
        expect([languageByPath(`a/b.c.${ending}`), languageByPath(`B.${ending.toUpperCase()}`)]).toEqual([
          language,
          language,
        ])
    }
  })
  it('guesses no language from a folder or a name without an ending', () => {
    expect(['a.ts/b', 'Makefile', 'ts', 'a.', 'a.constructor', '.bashrc'].map(languageByPath)).toEqual(
      Array(6).fill(undefined),
    )
    expect(['constructor', '', 'ts '].map(languageByName)).toEqual(Array(3).fill(undefined))
  })
})
