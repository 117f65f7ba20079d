import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parse, type SgNode } from '@ast-grep/napi'
import { fc } from '../../../support/property.js'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { runs } from '../../../support/property.js'

const require = createRequire(import.meta.url)
const program = require('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
let ws: Booted
let sources: SgNode[]

beforeAll(async () => {
  ws = await bootKernel()
  // Real sources: all files of Ajv.
  cpSync(join(dirname(require.resolve('ajv/package.json')), 'lib'), join(ws.root, 'lib'), { recursive: true })
  const files = execFileSync('find', ['lib', '-name', '*.ts'], { cwd: ws.root, encoding: 'utf8' })
    .trim()
    .split('\n')
    .sort()
  sources = await Promise.all(files.map(async (file) => parse('TypeScript', (await ws.read(file))!).root()))
})
afterAll(() => ws[Symbol.asyncDispose]())

/** Returns the matches of the program when it parses every file. */
function everywhere(pattern: string): string[] {
  try {
    const text = execFileSync(program, ['run', '--json=stream', '--lang=ts', `--pattern=${pattern}`, 'lib'], {
      cwd: ws.root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1e9,
    })
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map(({ file, range }) => `${file}:${range.byteOffset.start}-${range.byteOffset.end}`)
      .sort()
  } catch {
    return []
  }
}
async function ours(pattern: string): Promise<string[]> {
  const result = await ws.call('unified_search', { action: 'structural', lang: 'ts', pattern, max_results: 10_000 })
  return result.ok
    ? (result.output as any).matches
        .map(({ file, range }: any) => `${file}:${range.byteOffset.start}-${range.byteOffset.end}`)
        .sort()
    : []
}

it('finds the same with the literal prefilter as a search that parses every file, for any pattern', async () => {
  const tried = { found: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.nat(),
      fc.nat(),
      fc.constantFrom('as it stands', '$A', '$$$A', '$_'),
      async (file, place, part, by) => {
        const nodes = sources[file % sources.length]!.findAll({ rule: { regex: '^[^$\\n]{5,90}$' } })
        const node = nodes[place % nodes.length]
        if (!node) return
        const parts = node.findAll({ rule: { regex: '.' } }).slice(1)
        const hole = parts.length > 0 && by !== 'as it stands' ? parts[part % parts.length]!.range() : undefined
        const from = node.range().start.index
        const pattern = hole
          ? node.text().slice(0, hole.start.index - from) + by + node.text().slice(hole.end.index - from)
          : node.text()
        const expected = everywhere(pattern)
        tried.found += expected.length > 0 ? 1 : 0
        // A lower-case metavariable is refused before the search; an answer has at most 10,000 matches and 2 MiB.
        // A pattern that matches nothing as written can match inside other code.
        if (/\$+[a-z]/.test(pattern) || expected.length > 2000 || expected.length === 0) return
        expect(await ours(pattern), pattern).toEqual(expected)
      },
    ),
    { numRuns: runs(rounds(10, 25)) },
  )
  expect(tried.found).toBeGreaterThan(rounds(2, 5))
})
