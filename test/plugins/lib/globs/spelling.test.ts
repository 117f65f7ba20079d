import { describe, expect, it } from 'vitest'
import { compileGlob, findNamedPaths, spellGlobs, splitGlobs } from '../../../../build/plugins/lib/globs/index.js'
import { fc, runs } from '../../../support/property.js'

const name = fc.string({ unit: fc.constantFrom('a', 'b', '[', ']', '{', '}', '.', '-'), minLength: 1, maxLength: 5 })
const path = fc
  .array(
    name.filter((text) => !/^\.+$/.test(text)),
    { minLength: 1, maxLength: 3 },
  )
  .map((names) => names.join('/'))
/** Spells a glob for a tree with these files. */
const spell = (glob: string, files: string[], base = '.'): Promise<string[]> =>
  spellGlobs([glob], {
    root: '/ws',
    base,
    includesFolders: true,
    findKind: async (asked) =>
      files.includes(asked) ? 'file' : files.some((file) => file.startsWith(`${asked}/`)) ? 'directory' : undefined,
  })
const matches = (globs: string[], file: string): boolean => globs.some((glob) => compileGlob(glob, true)(file))

describe('spellGlobs', () => {
  it('matches a file by its path, by ./ and by its absolute path, whatever brackets its name has', async () => {
    await fc.assert(
      fc.asyncProperty(path, async (file) => {
        for (const glob of [file, `./${file}`, `/ws/${file}`]) {
          const globs = await spell(glob, [file])
          expect([glob, globs, matches(globs, file)]).toEqual([glob, globs, true])
        }
      }),
      { numRuns: runs(300) },
    )
  })
  it('matches the files of a folder by its path', async () => {
    await fc.assert(
      fc.asyncProperty(path, path, async (folder, below) => {
        const file = `${folder}/${below}`
        for (const glob of [folder, `./${folder}`, `/ws/${folder}`]) {
          const globs = await spell(glob, [file])
          expect([glob, globs, matches(globs, file)]).toEqual([glob, globs, true])
        }
      }),
      { numRuns: runs(300) },
    )
  })
  it('returns each glob without brackets, dots or commas unchanged', async () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '/'), minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(plain, async (glob) => {
        expect(await spell(glob, [])).toContain(glob)
      }),
      { numRuns: runs(200) },
    )
  })
})

describe('splitGlobs', () => {
  it('splits at commas outside of braces and keeps the text', () => {
    expect(splitGlobs(['*.ts, *.js', '{a,b}', 'c'])).toEqual(['*.ts, *.js', '*.ts', '*.js', '{a,b}', '{a,b}', 'c'])
  })
})

describe('findNamedPaths', () => {
  it('spells the literal beginning of a glob and writes the dots after it', () => {
    const named = findNamedPaths(['build/deep/*.js', '**/.env*', '!out/**', '.npmrc'])
    expect(['build', 'build/deep', 'deep', 'out', '.npmrc'].map(named.spells)).toEqual([true, true, false, false, true])
    expect(['.env', 'a/.env.local', 'a/.other', 'b/.npmrc'].map(named.writesDot)).toEqual([true, true, false, true])
  })
})
