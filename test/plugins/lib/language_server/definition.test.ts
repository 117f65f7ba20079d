import { expect, it } from 'vitest'
import { findLanguage } from '../../../../build/plugins/lib/language_server/index.js'

it('finds the language of a file by its longest ending or its whole name', () => {
  const languages = { '.ts': 'typescript', '.d.ts': 'declarations', 'go.mod': 'go.mod' }
  expect(findLanguage({ languages }, 'a/b.d.ts')).toBe('declarations')
  expect(findLanguage({ languages }, 'a/b.ts')).toBe('typescript')
  expect(findLanguage({ languages }, 'x/go.mod')).toBe('go.mod')
  expect(findLanguage({ languages }, 'x/cargo.mod')).toBeUndefined()
})
