import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Booted } from 'vtcode/test'
import { rounds } from '../../support/exec.js'
import { hold } from '../../support/held.js'
import { bootTypeScript, listNotices, PACKAGES } from '../../support/language_servers.js'
import { fc, runs } from '../../support/property.js'

const names = ['a', 'b', 'c'] as const
/** Statements of a file; each is right or wrong by what the other files export. */
const statement = fc.oneof(
  fc.constantFrom(
    'export const one: number = 1',
    "export const one: string = 'x'",
    "export const one: number = 'x'",
    'let unused = missing',
    '',
  ),
  fc
    .tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 99 }))
    .map(([from, id]) => `import { one as from${id} } from './${from}'\nexport const copy${id}: number = from${id}`),
)
const change = fc.record({ name: fc.constantFrom(...names), lines: fc.array(statement, { maxLength: 4 }) })

/** Returns the errors of the compiler itself, sorted: `a.ts(1,2): error TS2322: …`. */
function compile({ root }: Booted): string[] {
  const compiler = join(PACKAGES, 'typescript7/bin/tsc')
  try {
    execFileSync(process.execPath, [compiler, '--noEmit', '--pretty', 'false'], { cwd: root, encoding: 'utf8' })
    return []
  } catch (error) {
    return (error as { stdout: string }).stdout
      .split('\n')
      .filter((line) => /^\w/.test(line))
      .sort()
  }
}

const countNew = (before: string[], after: string[]): number => {
  const strip = (line: string) => line.replace(/\(\d+,\d+\)/, '')
  const left = before.map(strip)
  return after.map(strip).filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  }).length
}

it('reports after each of many random changes exactly what the compiler reports, and as new what it did not report before', async () => {
  const files = Object.fromEntries(names.map((name) => [`${name}.ts`, 'export const one: number = 1\n']))
  const ws = hold(await bootTypeScript({ files }))
  await ws.call('unified_search', { action: 'diagnostics' })
  let before = compile(ws)
  await fc.assert(
    fc.asyncProperty(change, async ({ name, lines }) => {
      const content = `${lines.join('\n')}\nexport {}\n`
      const result = await ws.call('unified_file', { action: 'write', path: `${name}.ts`, content, overwrite: true })
      const after = compile(ws)
      const [news] = listNotices(result, 'VT_DIAGNOSTICS_NEW')
      const added = Number(/^This change added (\d+) error/.exec(news ?? '')?.[1] ?? 0)
      const all = await ws.call('unified_search', { action: 'diagnostics', severity: 'error', max_results: 1000 })
      const matches = all.ok ? (all.output['matches'] as any[]) : []
      const listed = matches.map(
        ({ path, line_number, column, code, message }) =>
          `${path}(${line_number},${column}): error TS${code}: ${message}`,
      )
      expect(listed.sort().map((line) => line.split('\n')[0])).toEqual(after)
      expect(added, `${before.join('\n')}\n→\n${after.join('\n')}`).toBe(countNew(before, after))
      before = after
    }),
    { numRuns: runs(rounds(5, 12)) },
  )
})
