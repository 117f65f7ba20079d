import type { Location, LocationLink } from 'vscode-languageserver-protocol'
import type { Workspace } from '../../../core/workspace/index.js'
import { truncateLine, visibleLine } from '../../../core/text/index.js'
import type { JsonObject, Next, Notice, Success } from '../../../core/shapes/index.js'
import { notice, pluralize, sortByPath } from '../base/index.js'
import { toWorkspacePath } from '../language_server/index.js'
import { isPlace, type Place } from './target.js'

/** Places of one answer that are read. */
const MAX_PLACES = 50_000

/** Places in the workspace, in path order, and the number of places outside. */
export interface FoundPlaces<T extends Place = Place> {
  places: T[]
  outside: number
}
export interface PageInput {
  max_results: number
  skip: number
}

/** Returns the places of an answer: one, several, or links. Places that rules hide count as outside. */
export function readPlaces(answer: unknown, workspace: Pick<Workspace, 'root' | 'isVisible'>): FoundPlaces {
  const found = new Map<string, Place>()
  let outside = 0
  for (const item of [answer].flat().slice(0, MAX_PLACES)) {
    const { uri, range, targetUri, targetSelectionRange } = (item ?? {}) as Partial<Location & LocationLink>
    const start = (range ?? targetSelectionRange)?.start
    const path = toWorkspacePath(workspace.root, uri ?? targetUri)
    if (!isPlace(start)) continue
    if (path === undefined || !workspace.isVisible(path)) outside += 1
    else found.set(`${path}:${start.line}:${start.character}`, { path, line: start.line, character: start.character })
  }
  return { places: sortPlaces([...found.values()]), outside }
}

/** Sorts places by path, then by position. */
export function sortPlaces<T extends Place>(places: T[]): T[] {
  const inFile = places.sort((a, b) => a.line - b.line || a.character - b.character)
  return sortByPath(inFile, ({ path }) => path)
}

/** Returns a page of places with their lines, as the value and the text of an action. */
export async function createPlacesAnswer<T extends Place & { label?: string }>(
  { places, outside }: FoundPlaces<T>,
  { skip, max_results }: PageInput,
  { tool, input }: Next,
  { workspace, what }: { workspace: Workspace; what: string },
): Promise<Success> {
  const shown = places.slice(skip, skip + max_results)
  const texts = await readLines(shown, workspace)
  const end = skip + shown.length
  const left = places.length - end
  const matches = shown.map(({ path, line, character, label }, index) => ({
    path,
    line_number: line + 1,
    column: character + 1,
    text: texts[index]!,
    ...(label !== undefined && { name: label }),
  }))
  const rows = matches.map(({ path, line_number, text, name }) =>
    [`${visibleLine(path)}:${line_number}:`, name && `${visibleLine(name)}:`, visibleLine(text)]
      .filter(Boolean)
      .join(' '),
  )
  const files = new Set(places.map(({ path }) => path)).size
  const count = places.length === 0 ? `No ${what}s` : `${pluralize(places.length, what)} in ${pluralize(files, 'file')}`
  const notices: Notice[] =
    outside === 0 ? [] : [notice('VT_PLACES_OUTSIDE', `${pluralize(outside, what)} outside of the workspace left out.`)]
  const output: JsonObject = {
    matches,
    total: places.length,
    truncated: left > 0,
    ...(left > 0 && { next: { tool, input: { ...input, skip: end } } }),
  }
  const text = [...rows, `${count}.${left > 0 ? ` ${left} more: skip=${end}` : ''}`].join('\n')
  return { ok: true, output, text, ...(notices.length > 0 && { notices }) }
}

/** Reads the lines at these places; each file is read once. */
async function readLines(places: readonly Place[], workspace: Workspace): Promise<string[]> {
  const files = new Map<string, string[]>()
  const lines: string[] = []
  for (const { path, line } of places) {
    const text = files.get(path) ?? (await workspace.readText(path).catch(() => '')).split('\n')
    files.set(path, text)
    lines.push(truncateLine((text[line] ?? '').trim(), MAX_LINE))
  }
  return lines
}
const MAX_LINE = 200
