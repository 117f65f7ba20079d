// docs/compatibility.md: each script that tries real programs writes its own section, between two marks that carry the section's name.
import { readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../../docs/compatibility.md', import.meta.url)
const cell = (value) =>
  String(value ?? '')
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ')

/** Puts `text` in place of what stands in the section `name` (`clients`, `servers`). */
export function writeSection(name, text) {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`]
  const before = readFileSync(page, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/compatibility.md has no section '${name}'.`)
  writeFileSync(page, `${before.slice(0, from)}${begin}\n${text.trim()}\n${before.slice(to)}`)
}

/** Rows of cells as a table. */
export const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

/** The rows of the table in the section `name` as they stand there, by their first cell. */
export function rowsIn(name) {
  const text = readFileSync(page, 'utf8')
  const section = text.slice(text.indexOf(`<!-- ${name}: begin -->`), text.indexOf(`<!-- ${name}: end -->`))
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  const rows = lines.slice(lines.findIndex((line) => /^\|[ |-]*$/.test(line)) + 1)
  return new Map(
    rows
      .map((line) =>
        line
          .slice(2, -2)
          .split(/ ?(?<!\\)\| ?/)
          .map((text) => text.replaceAll('\\|', '|')),
      )
      .map((cells) => [cells[0], cells]),
  )
}
