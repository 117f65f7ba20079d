/** Part of a template string. */
export type Piece =
  | { kind: 'literal'; text: string }
  | { kind: 'value' | 'spread'; path: string }
  | { kind: 'special'; name: string }

const REFERENCE = /\{\{|\}\}|\{(\$?)([A-Za-z_][\w-]*(?:\.[\w-]+)*)(\.\.\.)?\}|[{}]/g
const SPECIALS = /^(workspace|plugin_root|plugin_data|option\.[\w-]+)$/

/** Splits a string into literal text and references by position; values are never parsed again. */
export function parseReference(source: string, refuse: (source: string) => Error): Piece[] {
  const pieces: Piece[] = []
  const literal = (text: string): void => {
    const last = pieces.at(-1)
    if (last?.kind === 'literal') last.text += text
    else if (text) pieces.push({ kind: 'literal', text })
  }
  let end = 0
  for (const match of source.matchAll(REFERENCE)) {
    const [whole, dollar, name, spread] = match
    literal(source.slice(end, match.index))
    end = match.index + whole.length
    if (whole === '{{' || whole === '}}') literal(whole[0]!)
    else if (name === undefined) throw refuse(source)
    else if (dollar) {
      if (!SPECIALS.test(name) || spread) throw refuse(source)
      pieces.push({ kind: 'special', name })
    } else pieces.push({ kind: spread ? 'spread' : 'value', path: name })
  }
  literal(source.slice(end))
  return pieces
}
