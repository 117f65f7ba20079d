import { describe, expect, it } from 'vitest'
import ts from 'typescript'
import { parse as parseYaml } from 'yaml'
import { filesOf, parse, textOf } from './sources.js'

/** The documents whose table is written. */
const written = ['card', '000', '001', '002', '004']
/** Every sentence of them, as `seed:line sentence`. */
const said = Object.entries(parseYaml(textOf('test/conformance/seeds/sentences.yaml')) as Record<string, Record<string, string[]>>).filter(([seed]) => written.includes(seed)).flatMap(([seed, lines]) => Object.entries(lines).flatMap(([line, sentences]) => sentences.map((sentence) => `${seed}:${line} ${sentence}`)))

/** The rows of the tables: which sentence, and the departure that is named. */
const rows = filesOf('test/conformance/seeds', '.ts').flatMap((file) => {
  const found: { row: string; departure?: string }[] = []
  const seed = /seeds\/(\w+)/.exec(file)![1]!
  const visit = (node: ts.Node): void => {
    if (ts.isArrayLiteralExpression(node) && node.elements.length >= 3) {
      const [line, sentence, , departure] = node.elements
      if (ts.isStringLiteral(line!) && ts.isStringLiteral(sentence!) && /^\d+$/.test(line.text)) found.push({ row: `${seed}:${line.text} ${sentence.text}`, ...(departure && ts.isStringLiteral(departure) && { departure: departure.text }) })
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
})

/** What is not asked yet, by the reason; `most` never grows. */
const open: { reason: string; most: number; rows: string[] }[] = []

describe('the sentences of the seeds', () => {
  it('are each asked by one row or open with a reason, never both', () => {
    expect(said).toHaveLength(454)
    const asked = [...rows.map(({ row }) => row), ...open.flatMap((one) => one.rows)]
    expect(said.filter((row) => !asked.includes(row))).toEqual([])
    expect(asked.filter((row) => !said.includes(row))).toEqual([])
    expect(asked.filter((row, at) => asked.indexOf(row) !== at)).toEqual([])
  })
  it('that are open become fewer', () => {
    expect(open.filter(({ most, rows }) => rows.length > most).map(({ reason }) => reason)).toEqual([])
  })
  it('that the program departs from are rows of the page about departures', () => {
    const topics = [...textOf('docs/departures.md').matchAll(/^\| (.+?) \| /gm)].map(([, topic]) => topic)
    expect(rows.filter(({ departure }) => departure !== undefined && !topics.includes(departure))).toEqual([])
  })
})
