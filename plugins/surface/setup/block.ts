import type { EntryChange } from './document.js'

/** A part of a text: from its first character to the one after its last. */
interface Span {
  from: number
  to: number
}

/**
 * Changes only our block in a file of code: the lines between two comments. A new block goes to the end of the file.
 * Returns undefined if nothing is left. Throws for a block without an end.
 */
export function editBlock(text: string, comment: string, entry: EntryChange): string | undefined {
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n'
  const marks = { begin: `${comment} vtcode begin`, end: `${comment} vtcode end` }
  const block = entry
    ? `${[marks.begin, ...String(entry['text']).split('\n'), marks.end].join(lineBreak)}${lineBreak}`
    : ''
  const known = findBlock(text, marks)
  return (known ? replaceBlock(text, known, block) : appendBlock(text, block, lineBreak)) || undefined
}

function appendBlock(text: string, block: string, lineBreak: string): string {
  if (block === '' || text === '' || text.endsWith('\n')) return text + block
  return text + lineBreak + block.slice(0, -lineBreak.length)
}

/** A block without a final line end was added to a text without one, and takes the line end before it along. */
function replaceBlock(text: string, { from, to }: Span, block: string): string {
  const before = text.slice(0, from)
  const isLast = to === text.length && !text.endsWith('\n')
  if (block !== '') return before + (isLast ? block.replace(/\r?\n$/, '') : block) + text.slice(to)
  return (isLast ? before.replace(/\r?\n$/, '') : before) + text.slice(to)
}

/** Finds our block. Throws if only one of its comments exists. */
function findBlock(text: string, { begin, end }: { begin: string; end: string }): Span | undefined {
  const [first, last] = [findLine(text, begin), findLine(text, end)]
  if (!first && !last) return undefined
  if (!first || !last || last.from < first.to)
    throw new Error(`the lines '${begin}' and '${end}' must both be in the file, in this order`)
  return { from: first.from, to: last.to }
}

/** Finds a line that is exactly `wanted`, with its end. */
function findLine(text: string, wanted: string): Span | undefined {
  let from = 0
  for (const line of text.split('\n')) {
    const to = Math.min(text.length, from + line.length + 1)
    if (line.replace(/\r$/, '') === wanted) return { from, to }
    from = to
  }
  return undefined
}
