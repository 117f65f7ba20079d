/** What a string of a template is made of. */
export type Piece =
  | { kind: 'literal'; text: string }
  | { kind: 'value' | 'spread'; path: string }
  | { kind: 'special'; name: string }

const reference = /\{\{|\}\}|\{(\$?)([A-Za-z_][\w-]*(?:\.[\w-]+)*)(\.\.\.)?\}|[{}]/g
const specials = /^(workspace|plugin_root|plugin_data|option\.[\w-]+)$/

/** Cuts a string into literal text and references, once and by position: what a value brings is never read again. */
export function parseReference(source: string, refuse: (source: string) => Error): Piece[] {
  const pieces: Piece[] = []
  const literal = (text: string): void => {
    const last = pieces.at(-1)
    if (last?.kind === 'literal') last.text += text
    else if (text) pieces.push({ kind: 'literal', text })
  }
  let end = 0
  for (const match of source.matchAll(reference)) {
    const [whole, dollar, name, spread] = match
    literal(source.slice(end, match.index))
    end = match.index + whole.length
    if (whole === '{{' || whole === '}}') literal(whole[0]!)
    else if (name === undefined) throw refuse(source)
    else if (dollar) {
      if (!specials.test(name) || spread) throw refuse(source)
      pieces.push({ kind: 'special', name })
    } else pieces.push({ kind: spread ? 'spread' : 'value', path: name })
  }
  literal(source.slice(end))
  return pieces
}
