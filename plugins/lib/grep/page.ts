import { isUtf8 } from 'node:buffer'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { cut, excerpt } from '../base/index.js'
import {
  canSpanLines,
  chomp,
  countCodePointsBetween,
  isMatchUnchanged,
  openTextSource,
  readNextLines,
  readPreviousLines,
  type CountedFile,
  type MatchPosition,
  type Pattern,
  type TextSource,
  type WantedMatches,
} from '../search/index.js'
import type { GrepInput, SearchEngine } from './grep_types.js'
import type { GrepMatch } from './grep_text.js'

export interface PagePart extends CountedFile {
  skip: number
  limit: number
}

/** Returns the files, in path order, that hold at most `limit` matches from `skip` on. */
export function selectPage(files: CountedFile[], skip: number, limit: number): PagePart[] {
  const parts: PagePart[] = []
  let before = 0
  for (const file of files) {
    if (before >= skip + limit) break
    const { count } = file
    const from = Math.max(0, skip - before)
    const wanted = Math.min(count, skip + limit - before) - from
    if (wanted > 0) parts.push({ file: file.file, count, places: file.places, skip: from, limit: wanted })
    before += count
  }
  return parts
}

export interface PageMatches {
  matches: GrepMatch[]
  /** Matches of the page, vanished ones included. */
  requested: number
  gone: string[]
}

/** Files open at the same time. */
const BATCH_SIZE = 200

/**
 * Reads the matches of the page. Each file is opened through the workspace, so that nothing from outside is returned.
 */
export async function readMatches(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  parts: PagePart[],
  input: GrepInput,
): Promise<PageMatches | undefined> {
  const state = { requested: parts.reduce((sum, { limit }) => sum + limit, 0), gone: [] as string[] }
  const matches = new Map<string, GrepMatch[]>()
  await using opener = context.workspace.createFileOpener()
  for (let at = 0; at < parts.length; at += BATCH_SIZE) {
    const handles: Handle[] = []
    try {
      const files: (PagePart & WantedMatches)[] = []
      for (const part of parts.slice(at, at + BATCH_SIZE)) {
        const handle = await opener.openFile(part.file).catch(() => undefined)
        if (!handle) {
          state.gone.push(part.file)
          continue
        }
        handles.push(handle)
        files.push({ ...part, handle, source: await openTextSource(handle) })
      }
      const found = await findMatches(engine, context, pattern, files, input)
      if (!found) return undefined
      for (const [index, { file, limit }] of files.entries()) {
        if (found[index]!.length < limit) state.gone.push(file)
        matches.set(file, found[index]!)
      }
    } finally {
      for (const handle of handles) await handle.close()
    }
  }
  return { ...state, matches: parts.flatMap(({ file }) => matches.get(file) ?? []) }
}

/** Finds the matches of each open file. Returns `undefined` when the engine cannot be started. */
async function findMatches(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  files: (PagePart & WantedMatches)[],
  input: GrepInput,
): Promise<GrepMatch[][] | undefined> {
  const known = await Promise.all(files.map(confirmPositions))
  const others = files.filter((_, index) => !known[index])
  const looked = others.length === 0 ? [] : await engine.findPositions(context, pattern, others)
  if (!looked) return undefined
  const several = canSpanLines(pattern)
  const found: GrepMatch[][] = []
  for (const [index, { file, source }] of files.entries()) {
    const matches: GrepMatch[] = []
    for (const place of known[index] ?? looked.shift()!)
      matches.push(await toGrepMatch(source, file, place, input.context_lines, several))
    found.push(matches)
  }
  return found
}

/** Returns the positions that the search reported, if the opened file holds them. */
async function confirmPositions({
  places,
  source,
  skip,
  limit,
}: PagePart & WantedMatches): Promise<MatchPosition[] | undefined> {
  const wanted = places?.slice(skip, skip + limit).flatMap((place) => place()) ?? []
  for (const place of wanted) if (!(await isMatchUnchanged(source, place))) return undefined
  return wanted.length === limit ? wanted : undefined
}

/** Code points shown of one line. */
const MAX_TEXT = 500
/** Bytes read on each side of a match to show its line. */
const LINE_WINDOW_BYTES = 8 * MAX_TEXT

async function toGrepMatch(
  source: TextSource,
  file: string,
  place: MatchPosition,
  context: number,
  several: boolean,
): Promise<GrepMatch> {
  const first = place.submatches[0] ?? { start: 0, end: 0 }
  const from = Math.max(0, first.start - LINE_WINDOW_BYTES)
  const bytes = await source.read(place.offset + from, first.start - from + LINE_WINDOW_BYTES)
  // The lines of a match end with the line in which it ends.
  const last = bytes.indexOf(10, Math.max(first.start, first.end - 1) - from)
  const line = chomp(last < 0 ? bytes : bytes.subarray(0, last + 1))
  const { text, cut: shortened } = excerpt(line, first.start - from, MAX_TEXT, {
    front: from > 0,
    back: last < 0 && place.offset + from + bytes.length < source.bytes,
  })
  const after = last < 0 ? undefined : place.offset + from + last + 1
  return {
    file,
    line_number: place.line_number,
    column: 1 + (await countCodePointsBetween(source, place.offset, place.offset + first.start)),
    text: replaceNul(text),
    ...(several && { end_line_number: place.end_line_number }),
    ...(context > 0 && {
      before: (await readPreviousLines(source, place.offset, context)).map(shorten),
      after: after === undefined ? [] : (await readNextLines(source, after, context)).map(shorten),
    }),
    ...(shortened && { text_truncated: true as const }),
    ...(((!isUtf8(line) && !shortened) || line.includes(0)) && { lossy: true as const }),
    absolute_offset: place.offset,
    submatches: place.submatches.map((part) => ({ ...part, text: replaceNul(part.text) })),
  }
}

const shorten = (line: Buffer): string => replaceNul(cut(line.toString(), MAX_TEXT).text)

/** Replaces NUL characters, which JSON may hold but many readers of it cannot. */
export const replaceNul = (text: string): string => text.replaceAll('\0', '\ufffd')
