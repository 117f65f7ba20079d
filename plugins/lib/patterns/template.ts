import type { Range } from '../syntax/index.js'

/** A captured node. */
export interface Captured {
  text: string
  range: Range
}
/** A match with its captures. */
interface CapturedMatch extends Captured {
  metaVariables?: { single: Record<string, Captured>; multi: Record<string, Captured[]> }
}
/** Alternating text and metavariables. */
export type RewriteTemplate = (string | { name: string; several: boolean })[]

/** Parses a template of one line with plain metavariables; `undefined` for others. */
export function parseRewriteTemplate(rewrite: string): RewriteTemplate | undefined {
  const parts = rewrite.split(/(\${3}[A-Z][A-Z0-9_]*|(?<!\$)\$[A-Z][A-Z0-9_]*)/)
  const plain = parts.filter((_, index) => index % 2 === 0)
  if (plain.some((text) => text.includes('\n') || /\$[$_A-Z]/.test(text))) return undefined
  return parts.map((part, index) =>
    index % 2 === 0 ? part : { name: part.replace(/^\$+/, ''), several: part.startsWith('$$$') },
  )
}

/**
 * Renders the replacement; `undefined` if a capture spans lines or is single where several are needed, or vice versa.
 */
export function renderReplacement(
  template: RewriteTemplate,
  { text, range, metaVariables }: CapturedMatch,
): string | undefined {
  const bytes = Buffer.from(text)
  const origin = range.byteOffset.start
  let replacement = ''
  for (const part of template) {
    if (typeof part === 'string') {
      replacement += part
      continue
    }
    const nodes = part.several ? metaVariables!.multi[part.name] : [metaVariables!.single[part.name]!].filter(Boolean)
    if (!nodes || (!part.several && nodes.length === 0)) return undefined
    const [first, last] = [nodes[0], nodes.at(-1)]
    const piece =
      first && last
        ? bytes.toString('utf8', first.range.byteOffset.start - origin, last.range.byteOffset.end - origin)
        : ''
    if (piece.includes('\n')) return undefined
    replacement += piece
  }
  return replacement
}

/** Finds names that the replacement uses and the pattern does not capture. */
export function findUnbound(pattern: string, rewrite: string): string[] {
  const names = (text: string) => [...text.matchAll(/\$+([A-Z][A-Z0-9_]*)/g)].map(([, name]) => name!)
  const known = new Set(names(pattern))
  return [...new Set(names(rewrite))].filter((name) => !known.has(name))
}
