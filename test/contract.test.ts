import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

// docs/contract.md is written by hand: who adds, renames or removes something of it does so on purpose, and says it there and in CHANGELOG.md.
const root = fileURLToPath(new URL('..', import.meta.url))
const text = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = text('docs/contract.md')

/** Returns the entries of a table row of the page, by the row's first cell. */
const listed = (label: string): string[] => {
  const row = page.split('\n').find((line) => line.startsWith(`| ${label} |`))
  return [...(row ?? '').slice(`| ${label} |`.length).matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
}
const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort()

interface Node {
  properties?: Record<string, Node & { const?: string; enum?: string[] }>
  $defs?: Record<string, Node>
}
const schema = (name: string): Node => JSON.parse(text(`manifests/schema/${name}.1.json`)) as Node
/** All values that `type` may have somewhere below a node. */
function typesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  const { const: one, enum: many = [] } = (node as Node).properties?.['type'] ?? {}
  return [...(one === undefined ? [] : [one]), ...many, ...Object.values(node).flatMap(typesIn)]
}

/** The names that the declarations of a door export: types, and values that are there when it is imported. */
async function exportsOf(door: string, file: string): Promise<{ values: string[]; types: string[] }> {
  const clause = /^export \{ (.*) \};$/m.exec(text(`dist/types/${file}`))![1]!
  const names = clause.split(', ').map((one) => one.replace(/^type /, '').replace(/^.* as /, ''))
  const there = new Set(Object.keys((await import(door)) as object))
  return {
    values: sorted(names.filter((name) => there.has(name))),
    types: sorted(names.filter((name) => !there.has(name))),
  }
}

describe('docs/contract.md', () => {
  it.each([
    ['vtcode', 'index.d.ts'],
    ['vtcode/agent', 'agent.d.ts'],
    ['vtcode/ai', 'ai.d.ts'],
    ['vtcode/trace', 'trace.d.ts'],
    ['vtcode/tui', 'tui.d.ts'],
    ['vtcode/test', 'test.d.ts'],
  ])('lists exactly the names that %s exports', async (door, file) => {
    const { values, types } = await exportsOf(door, file)
    expect(values.length).toBeGreaterThan(1)
    expect({ values: listed(`\`${door}\`, values`), types: listed(`\`${door}\`, types`) }).toEqual({ values, types })
  })

  it('lists exactly the types of events and of their items', () => {
    const {
      $defs: { item, ...others },
      ...events
    } = schema('thread_event') as Node & { $defs: Record<string, Node> }
    expect({ events: listed('types of events'), items: listed('types of items') }).toEqual({
      events: sorted(typesIn([events, others])),
      items: sorted(typesIn(item)),
    })
  })

  it('lists exactly the keys that a manifest of each kind has', () => {
    const { $defs = {} } = schema('manifest')
    const kinds = [
      'action',
      'policy',
      'compactor',
      'surface',
      'adapter',
      'provider',
      'language_server',
      'job_engine',
      'resource',
      'prompt',
    ]
    for (const kind of ['common', ...kinds])
      expect(listed(kind === 'common' ? 'of every kind' : `\`${kind}\``), kind).toEqual(
        sorted(Object.keys($defs[kind]!.properties ?? {})),
      )
  })

  it('names the current version of each schema', () => {
    for (const name of ['manifest', 'config', 'thread_event']) expect(page).toContain(`\`${name}.1.json\``)
    expect(text('plugins/agent/events/file_sinks.ts')).toContain("schema_version: '1.0.0'")
    expect(page).toContain('`1.0.0`')
  })

  it('requires a heading in CHANGELOG.md for the version of the package', () => {
    const { version } = JSON.parse(text('package.json')) as { version: string }
    expect(text('CHANGELOG.md')).toMatch(new RegExp(`^## .*\\b${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })
})
