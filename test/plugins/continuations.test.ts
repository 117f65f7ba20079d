import { describe, expect, it } from 'vitest'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { successText } from '../../build/plugins/lib/base/index.js'
import { holdForFile } from '../support/held.js'
import { pdf } from '../support/pdf.js'
import { fc, runs } from '../support/property.js'

type Input = Record<string, unknown>
/** The items of one page, by names that are unique in all pages. */
type Items = (text: string, output: any) => string[]

const numbered = (count: number, rest: string): string =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} ${rest}\n`).join('')
const files: Files = {
  'hits.txt': numbered(500, 'is wanted here, and it goes on for a while'),
  'calls.ts': Array.from({ length: 130 }, (_, at) => `call(${at})\n`).join(''),
  'doc.pdf': pdf(Array.from({ length: 45 }, (_, at) => `page ${at + 1} of text`)),
  ...Object.fromEntries(Array.from({ length: 230 }, (_, at) => [`many/file_${at}.txt`, 'x\n'])),
  '.vtcode/skills/long/SKILL.md': '---\nname: long\ndescription: Holds a long file.\n---\nText.\n',
  '.vtcode/skills/long/data.txt': numbered(2_400, 'of a resource that is long enough for several pages'),
  ...Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [
      `.vtcode/skills/skill-${at}/SKILL.md`,
      `---\nname: skill-${at}\ndescription: Skill ${at} of many.\n---\nText.\n`,
    ]),
  ),
}

/** Returns the inputs that the end of a text names as the continuation, in the order of the text. */
function findContinuations(text: string): Input[] {
  // A value instead of a text holds its next call.
  if (text.startsWith('{')) {
    const { next } = JSON.parse(text) as { next?: { input: Input } }
    return next ? [{ whole: next.input }] : []
  }
  const end = text.slice(-600)
  const found: [at: number, input: Input][] = []
  for (const match of end.matchAll(/^Next: \w+ (\{.*\})$/gm))
    found.push([match.index, { whole: JSON.parse(match[1]!) as Input }])
  const short = /\b(?:continue with|next|Next:) (?:(\w+)=(\d+), )?(\w+)=([\d-]+)(?=\]?\.?$)/gm
  for (const [whole, first, one, name, value] of end.matchAll(short))
    found.push([
      end.lastIndexOf(whole),
      {
        ...(first !== undefined && { [first]: Number(one) }),
        [name!]: name === 'pages' ? value : Number(value),
      },
    ])
  return found.sort(([a], [b]) => a - b).map(([, input]) => input)
}

/** Calls a tool and follows the last continuation of each text to the end. Returns all items. */
async function follow(ws: Booted, tool: string, given: Input, items: Items): Promise<string[]> {
  const all: string[] = []
  let input: Input | undefined = given
  for (let step = 0; input; step++) {
    // A file of 3 MB with short lines has about 1,000 pages.
    if (step > 2_000) throw new Error(`no end: ${JSON.stringify(input)}`)
    const result = await ws.call(tool, input)
    if (!result.ok) throw new Error(JSON.stringify(result.error))
    const shown = successText(result)
    const spooled = /the whole text is in (\.vtcode\/spool\/[\w.-]+)/.exec(shown)?.[1]
    const whole = spooled === undefined ? shown : ((await ws.read(spooled)) ?? '')
    all.push(...items(whole, result.output))
    const named = findContinuations(shown)
    expect(named.length, shown.slice(-300)).toBeLessThanOrEqual(1)
    const [next] = named
    const { pages: _, end_line: __, ...kept }: Input = input
    input = next && (((next['whole'] as Input | undefined) ?? { ...kept, ...next }) as Input)
  }
  return all
}

const linesOf: Items = (text) => [...text.matchAll(/^line \d+/gm)].map(String)
const first = (count: number, prefix: string, from = 1): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at + from}`)

const shared = bootKernel({ files }).then(holdForFile)

describe('the last continuation of a paged text', () => {
  it.each<[string, string, Input, Items, string[]]>([
    [
      'grep',
      'unified_search',
      { action: 'grep', pattern: 'wanted', max_results: 130 },
      (text) => [...text.matchAll(/line \d+/g)].map(String),
      first(500, 'line '),
    ],
    [
      'list',
      'unified_search',
      { action: 'list', path: 'many', max_results: 100 },
      (text) => [...text.matchAll(/file_\d+/g)].map(String),
      first(230, 'file_', 0),
    ],
    [
      'a tree',
      'unified_search',
      { action: 'list', path: 'many', mode: 'tree', max_results: 100 },
      (text) => [...text.matchAll(/file_\d+/g)].map(String),
      first(230, 'file_', 0),
    ],
    [
      'structural',
      'unified_search',
      { action: 'structural', pattern: 'call($A)', lang: 'ts', max_results: 40 },
      (text) => [...text.matchAll(/call\(\d+/g)].map(String),
      first(130, 'call(', 0),
    ],
    [
      'rewrite',
      'unified_search',
      { action: 'structural', workflow: 'rewrite', pattern: 'call($A)', rewrite: 'x($A)', lang: 'ts', max_results: 40 },
      (text) => [...text.matchAll(/call\(\d+/g)].map(String),
      first(130, 'call(', 0),
    ],
    [
      'fuzzy',
      'grep_search/fuzzy',
      { pattern: 'wanted', path: 'hits.txt', max_results: 180 },
      (text) => [...text.matchAll(/line \d+/g)].map(String),
      first(500, 'line '),
    ],
    [
      'list_skills',
      'list_skills',
      { scope: 'workspace', query: 'of many', per_page: 7 },
      (text) => [...text.matchAll(/skill-\d+/g)].map(String),
      first(30, 'skill-', 0),
    ],
    [
      'pages of a PDF',
      'unified_file',
      { action: 'read', path: 'doc.pdf' },
      (text) => [...text.matchAll(/^page \d+ of text/gm)].map(String),
      first(45, 'page ').map((page) => `${page} of text`),
    ],
    [
      'lines of a page',
      'unified_file',
      { action: 'read', path: 'hits.txt', page_size_lines: 90 },
      linesOf,
      first(500, 'line '),
    ],
    [
      'a part by its end',
      'unified_file',
      { action: 'read', path: 'hits.txt', end_line: 90 },
      linesOf,
      first(500, 'line '),
    ],
    [
      'a detailed read',
      'unified_file',
      { action: 'read', path: '.vtcode/skills/long/data.txt', response_format: 'detailed' },
      (text) => [...text.matchAll(/(?<=\\n|":")line \d+/g)].map(String),
      first(2_400, 'line '),
    ],
  ])('reaches every item of %s exactly once', async (_, tool, input, items, expected) => {
    const all = await follow(await shared, tool, input, items)
    expect(all.sort()).toEqual([...expected].sort())
  })

  it('reaches every line of a skill resource exactly once', async () => {
    const ws = await shared
    await ws.call('load_skill', { name: 'long' })
    const given = { skill_name: 'long', resource_path: 'data.txt' }
    expect(await follow(ws, 'load_skill_resource', given, linesOf)).toEqual(first(2_400, 'line '))
  })

  it('reads every byte of a file in ranges exactly once', async () => {
    const ws = await shared
    const given = { action: 'read', path: 'hits.txt', offset_bytes: 0, page_size_bytes: 1_000 }
    const pieces = await follow(ws, 'unified_file', given, (_, output) => [output.content as string])
    expect(pieces.join('')).toBe(files['hits.txt'])
  })

  it('shows every line of a file exactly once, whatever the lengths of its lines', async () => {
    const ws = await shared
    const lengths = fc.array(fc.nat({ max: 1_900 }), { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(lengths, fc.integer({ min: 1, max: 3_000_000 }), fc.boolean(), async (all, bytes, ended) => {
        const lines: string[] = []
        for (let at = 0, size = 0; size < bytes; at++) {
          const line = `line ${at + 1} ${'x'.repeat(all[at % all.length]!)}`
          lines.push(line)
          size += line.length + 1
        }
        await ws.write('random.txt', lines.join('\n') + (ended ? '\n' : ''))
        const shown = await follow(ws, 'unified_file', { action: 'read', path: 'random.txt' }, linesOf)
        expect(shown).toEqual(first(lines.length, 'line '))
      }),
      { numRuns: runs(8) },
    )
  })

  it('continues a file over 1 MiB after the lines that the text shows, and names one continuation', async () => {
    const ws = await shared
    await ws.write('large.txt', numbered(30_000, 'of a file that is longer than one value can be'))
    const result = await ws.call('unified_file', { action: 'read', path: 'large.txt' })
    const text = result.ok ? successText(result) : ''
    const [, last, next] = /\[lines 1-(\d+) of 30000; next offset_lines=(\d+)\]$/.exec(text)!
    expect(Number(next)).toBe(Number(last) + 1)
    expect(text).not.toContain('Next:')
    expect(result).toMatchObject({ ok: true, output: { has_more: true, next: { tool: 'unified_file' } } })
  })
})
