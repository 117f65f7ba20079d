import { describe, expect, it } from 'vitest'
import ts from 'typescript'
import { parse as parseYaml } from 'yaml'
import { codes } from '../../build/core/shapes/index.js'
import words from './words.json' with { type: 'json' }
import { filesOf, parse, sources, textOf } from './sources.js'

const rules = Object.entries(words).map(([pattern, instead]) => ({ pattern: new RegExp(pattern), instead }))

/** Returns the texts of a program: its strings of several words, without comments and names. */
function saidBy(file: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
      const text = node.getText()
      if (/\s/.test(text)) found.push(text)
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

/** The lines of a page or a manifest, but for comments and the names of tests, which are no public text. */
const linesOf = (file: string): string[] =>
  textOf(file)
    .split('\n')
    .filter((line) => !/^\s*`test\//.test(line) && (file.endsWith('.md') || !/^\s*#/.test(line)))

const pages = [
  'README.md',
  ...filesOf('docs', '.md'),
  ...filesOf('skills', '.md'),
  ...filesOf('manifests', '.yaml'),
  ...filesOf('manifests', '.md'),
  ...filesOf('manifests', '.json').filter((file) => !file.endsWith('_models.json')),
]
const wrongWords = (file: string, texts: string[]): string[] =>
  texts.flatMap((text) =>
    rules
      .filter(({ pattern }) => pattern.test(text))
      .map(
        ({ pattern, instead }) =>
          `${file}: ${pattern.exec(text)![0]} (say: ${instead}) in: ${text.trim().slice(0, 160)}`,
      ),
  )

describe('public texts', () => {
  it('finds no banned word in texts of the program', () => {
    expect(sources.flatMap((file) => wrongWords(file, saidBy(file)))).toEqual([])
  })

  it('finds no banned word in pages, skills and manifests', () => {
    expect(pages.flatMap((file) => wrongWords(file, linesOf(file)))).toEqual([])
  })

  it('matches a sample with each rule of the word list', () => {
    const samples = [
      'Mended it.',
      'it is none',
      'at hand',
      'Nothing waits.',
      'bears no seal',
      'is gone on with',
      'goes on with it',
      '`x` goes on.',
      'put aside',
      "'x', meant: y",
      'lies behind the end',
      'all the same',
      'was passed over',
      'is left alone',
      'what is known of it',
      'nobody has agreed',
      'stands on it',
      'cannot be told',
      'a tool that is not there',
      "There is no tool 'x'",
      'There is no such skill',
      'possible are a',
      'a hook objects to it',
      'wins nothing',
      'therein',
      'no colours',
    ]
    expect(
      rules
        .filter(({ pattern }) => !samples.some((sample) => pattern.test(sample)))
        .map(({ pattern }) => pattern.source),
    ).toEqual([])
  })
})

describe('errors', () => {
  it('requires a message and a hint for each error of core', () => {
    expect(
      Object.entries(codes)
        .filter(([, [message, hint]]) => message.trim() === '' || hint.trim() === '')
        .map(([code]) => code),
    ).toEqual([])
  })

  it('requires a hint for each error of a manifest', () => {
    const declared = filesOf('manifests', '.yaml').flatMap((file) =>
      Object.entries((parseYaml(textOf(file)) as { errors?: Record<string, { hint?: string }> }).errors ?? {}).map(
        ([code, row]) => ({ code: `${file} ${code}`, ...row }),
      ),
    )
    expect(declared.length).toBeGreaterThan(100)
    expect(declared.filter(({ hint }) => !hint?.trim()).map(({ code }) => code)).toEqual([])
  })

  // The http adapter leaves the hint to its manifest, which declares one for each code.
  it('refuses errors written with an empty hint', () => {
    const empty = sources
      .filter((file) => file !== 'plugins/adapter/http.ts')
      .flatMap((file) =>
        /\bhint: ''|\b(denied|fail|refused|problem)\((?:[^()]|\([^()]*\))*, ''\)/.test(textOf(file)) ? [file] : [],
      )
    expect(empty).toEqual([])
  })
})
