import { describe, expect, it } from 'vitest'
import { languageNamed, languageOf, languages, positionsIn } from '../../../../build/plugins/lib/syntax/index.js'
import { fc } from '../../../support/property.js'

it('positions in a text are those of its bytes and code points, however long its lines are', () => {
  const unit = fc.constantFrom('a', 'é', '技', '😀', '\n', 'x'.repeat(100), '😀'.repeat(70))
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 12 }).map((parts) => parts.join('')),
      (text) => {
        const { byte, column } = positionsIn(text)
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

describe('languages', () => {
  it('have names and endings that mean one of them each, in any case', () => {
    const names = languages.flatMap(({ id, aliases }) => [id, ...aliases])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    const endings = languages.flatMap(({ extensions }) => extensions)
    expect(endings.filter((ending, index) => endings.indexOf(ending) !== index)).toEqual([])
    for (const language of languages) {
      for (const name of [language.id, ...language.aliases]) expect(languageNamed(name.toUpperCase())).toBe(language)
      for (const ending of language.extensions)
        expect([languageOf(`a/b.c.${ending}`), languageOf(`B.${ending.toUpperCase()}`)]).toEqual([language, language])
    }
  })
  it('are not guessed from a folder, or from a name without an ending', () => {
    expect(['a.ts/b', 'Makefile', 'ts', 'a.', 'a.constructor', '.bashrc'].map(languageOf)).toEqual(
      Array(6).fill(undefined),
    )
    expect(['constructor', '', 'ts '].map(languageNamed)).toEqual(Array(3).fill(undefined))
  })
})
