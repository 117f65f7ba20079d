import { describe, expect, it } from 'vitest'
import ts from 'typescript'
import { parse as parseYaml } from 'yaml'
import { filesOf, parse, textOf } from './sources.js'

/** Every sentence of the documents that this program was built from, as `seed:line sentence`. */
const said = Object.entries(
  parseYaml(textOf('test/conformance/seeds/sentences.yaml')) as Record<string, Record<string, string[]>>,
).flatMap(([seed, lines]) =>
  Object.entries(lines).flatMap(([line, sentences]) => sentences.map((sentence) => `${seed}:${line} ${sentence}`)),
)

/** The rows of the tables: which sentence, and the departure that is named. */
const rows = filesOf('test/conformance/seeds', '.ts').flatMap((file) => {
  const found: { row: string; departure?: string }[] = []
  const seed = /seeds\/(\w+)/.exec(file)![1]!
  const visit = (node: ts.Node): void => {
    if (ts.isArrayLiteralExpression(node) && node.elements.length >= 3) {
      const [line, sentence, , departure] = node.elements
      if (ts.isStringLiteral(line!) && ts.isStringLiteral(sentence!) && /^\d+$/.test(line.text))
        found.push({
          row: `${seed}:${line.text} ${sentence.text}`,
          ...(departure && ts.isStringLiteral(departure) && { departure: departure.text }),
        })
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
})

/** Open sentences, by the piece of work that will cover them. That work adds the rows and removes them here; `most` never grows. */
const open: { reason: string; most: number; rows: string[] }[] = [
  {
    reason: '31, delegation and schedules',
    most: 7,
    rows: [
      '003:21 envelope: delegated findings',
      '003:38 multi-agent orchestration as follow-on',
      '003:39 delegation as explicit threads',
      '003:41 children for bounded side work',
      '003:42 guidance when not to delegate',
      '003:43 child output advisory',
      '003:44 merge-back into the envelope',
    ],
  },
  {
    reason: 'later: learning',
    most: 8,
    rows: [
      '003:152 RL module: bandit and actor-critic',
      '003:153 [optimization] config with reward shaping',
      '003:154 RewardSignal, RewardLedger',
      '003:155 RlEngine select / apply_reward',
      '003:156 prefer low-latency high-success actions',
      '003:157 staged training (agentless priors)',
      '003:159 BugFixer and TestWriter prompt templates',
      '003:163 research note, full pipeline',
    ],
  },
]

describe('seed sentences', () => {
  it('covers each of 610 seed sentences by one row or one open entry', () => {
    expect(said).toHaveLength(610)
    const asked = [...rows.map(({ row }) => row), ...open.flatMap((one) => one.rows)]
    expect(said.filter((row) => !asked.includes(row))).toEqual([])
    expect(asked.filter((row) => !said.includes(row))).toEqual([])
    expect(asked.filter((row, at) => asked.indexOf(row) !== at)).toEqual([])
  })
  it('limits open seed sentences to the length of each list, and to 17 in total', () => {
    expect(open.filter(({ most, rows }) => rows.length !== most).map(({ reason }) => reason)).toEqual([])
    expect(open.reduce((sum, { most }) => sum + most, 0)).toBeLessThanOrEqual(17)
  })
  it('names rows of docs/departures.md for departures from the seeds', () => {
    const topics = [...textOf('docs/departures.md').matchAll(/^\| (.+?) \| /gm)].map(([, topic]) => topic)
    expect(rows.filter(({ departure }) => departure !== undefined && !topics.includes(departure))).toEqual([])
  })
})
