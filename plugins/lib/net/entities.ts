const characterByName = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: ' ',
    hellip: '…',
    mdash: '—',
    ndash: '–',
    middot: '·',
    copy: '©',
    rsquo: '’',
    lsquo: '‘',
    rdquo: '”',
    ldquo: '“',
    laquo: '«',
    raquo: '»',
  }),
)

/** Decodes HTML character references: numbers and common names. */
export function decodeEntities(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|\w{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return characterByName.get(name) ?? whole
    const point = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : '\ufffd'
  })
}

/**
 * Replaces each tag of a text. A regular expression would search for the end of an unclosed tag from every `<` again.
 */
export function replaceTags(html: string, instead: (tag: string) => string): string {
  const kept: string[] = []
  let from = 0
  for (let start = html.indexOf('<'); start >= 0; start = html.indexOf('<', from)) {
    const end = html.indexOf('>', start)
    if (end < 0) break
    kept.push(html.slice(from, start), instead(html.slice(start, end + 1)))
    from = end + 1
  }
  return kept.join('') + html.slice(from)
}

/** Returns the text inside markup as one line. */
export const stripMarkup = (html: string): string =>
  decodeEntities(replaceTags(html, () => ''))
    .replace(/\s+/g, ' ')
    .trim()
