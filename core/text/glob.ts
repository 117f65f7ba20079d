/**
 * Returns whether `items` match `pattern`; elements for which `any` holds stand for any number of items. The match is
 * greedy with one point of return: its time is at most the product of the two lengths.
 */
export function matchSequence<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  any: (element: P) => boolean,
  one: (element: P, item: T) => boolean,
): boolean {
  let at = 0
  let star = -1
  let resume = 0
  for (let index = 0; index < items.length;) {
    if (at < pattern.length && any(pattern[at]!)) [star, at, resume] = [at, at + 1, index]
    else if (at < pattern.length && one(pattern[at]!, items[index]!)) [at, index] = [at + 1, index + 1]
    else if (star >= 0) [at, index] = [star + 1, (resume += 1)]
    else return false
  }
  while (at < pattern.length && any(pattern[at]!)) at += 1
  return at === pattern.length
}

/**
 * Follows all positions of the pattern in parallel, item by item. After each item, `ends` gets the positions that are
 * reached and decides whether the match is complete. The time is at most the product of the two lengths.
 */
function followPattern<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  any: (element: P) => boolean,
  one: (element: P, item: T) => boolean,
  ends: (places: Uint8Array, isLast: boolean) => boolean,
): boolean {
  let places = new Uint8Array(pattern.length + 1)
  places[0] = 1
  for (let index = 0; index < items.length; index += 1) {
    const next = new Uint8Array(pattern.length + 1)
    let isAlive = false
    for (let at = 0; at < pattern.length; at += 1) {
      if (places[at] === 0) continue
      const element = pattern[at]!
      if (any(element)) next[at] = places[at + 1] = 1
      else if (one(element, items[index]!)) next[at + 1] = 1
      else continue
      isAlive = true
    }
    if (!isAlive) return false
    for (let at = 0; at < pattern.length; at += 1) if (next[at] === 1 && any(pattern[at]!)) next[at + 1] = 1
    places = next
    if (ends(places, index === items.length - 1)) return true
  }
  return false
}

/** Returns whether the whole pattern matches some first part of the items. */
const matchesPrefix = <P, T>(
  pattern: readonly P[],
  items: readonly T[],
  any: (element: P) => boolean,
  one: (element: P, item: T) => boolean,
): boolean => followPattern(pattern, items, any, one, (places) => places[pattern.length] === 1)

/** Returns whether some first part of the pattern matches all items. */
export const isPartialMatch = <P, T>(
  pattern: readonly P[],
  items: readonly T[],
  any: (element: P) => boolean,
  one: (element: P, item: T) => boolean,
): boolean => followPattern(pattern, items, any, one, (places, isLast) => isLast && places.indexOf(1, 1) > 0)

/**
 * Returns whether some text fits both patterns, in which `*` stands for any characters and `?` for one. The time is the
 * product of the two lengths.
 */
export function canOverlap(first: string, second: string): boolean {
  const [left, right] = [[...first], [...second]]
  // Each entry states that the rest of `left` overlaps with the rest of `right`.
  let after: boolean[] = []
  for (let i = left.length; i >= 0; i -= 1) {
    const row: boolean[] = []
    for (let j = right.length; j >= 0; j -= 1) {
      const [a, b] = [left[i], right[j]]
      if (a === '*' || b === '*') row[j] = (a !== undefined && after[j]!) || (b !== undefined && row[j + 1]!)
      else if (a === undefined || b === undefined) row[j] = a === b
      else row[j] = after[j + 1]! && (a === b || a === '?' || b === '?')
    }
    after = row
  }
  return after[0]!
}

type Token = '*' | ((char: string) => boolean)

/**
 * Compiles a word in which `*` stands for any characters. With `classes`, `?` and `[a-z]` count too, as in gitignore.
 */
export function compileWildcard(pattern: string, classes = false): (text: string) => boolean {
  if (!/[*?[\\]/.test(pattern)) return (text) => text === pattern
  const tokens: Token[] = []
  for (let rest = pattern; rest;) {
    const set = classes ? /^\[([!^]?)(\]?[^\]]*)\]/.exec(rest) : null
    const escaped = classes && rest[0] === '\\' && rest.length > 1
    const char = escaped ? rest[1]! : String.fromCodePoint(rest.codePointAt(0)!)
    tokens.push(set ? compileCharSet(set[2]!, set[1] !== '') : toToken(char, classes, escaped))
    rest = rest.slice(set ? set[0].length : escaped ? 2 : char.length)
  }
  return (text) =>
    matchSequence(
      tokens,
      [...text],
      (token) => token === '*',
      (token, char) => token !== '*' && token(char),
    )
}

function toToken(char: string, classes: boolean, escaped: boolean): Token {
  if (char === '*' && !escaped) return '*'
  return char === '?' && classes && !escaped ? () => true : (other) => other === char
}

function compileCharSet(members: string, negated: boolean): (char: string) => boolean {
  const ranges = [...members.matchAll(/(.)-(.)|(.)/gsu)].map(
    ([, from, to, only]) => [from ?? only!, to ?? only!] as const,
  )
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== negated
}

/**
 * Compiles a gitignore pattern over `/`-separated paths: `/x` starts at the root, a bare name matches at any depth,
 * `**` is any number of folders. A pattern that matches a folder matches everything below it. `//x` and `~/x` are paths
 * of the machine, on which `root` lies too; they also match absolute paths.
 */
export function compilePathPattern(
  pattern: string,
  machine?: { root: string; home: string },
): (path: string) => boolean {
  const ofHome = pattern.startsWith('~/')
  if (machine && (ofHome || pattern.startsWith('//'))) {
    const matches = compilePathPattern(ofHome ? machine.home + pattern.slice(1) : pattern.slice(1))
    const above = machine.root.replace(/^\//, '')
    return (path) => matches(path.startsWith('/') ? path.slice(1) : path === '.' ? above : `${above}/${path}`)
  }
  const anchored = pattern.replace(/^\.?\//, '')
  const segments = anchored.replace(/\/$/, '').split('/')
  const bare = anchored === pattern && segments.length === 1
  const elements = [...(bare ? ['**'] : []), ...segments].map((segment) =>
    segment === '**' ? segment : compileWildcard(segment, true),
  )
  return (path) =>
    matchesPrefix(
      elements,
      path.split('/'),
      (element) => element === '**',
      (element, part) => typeof element === 'function' && element(part),
    )
}

/** Compiles a pattern of host names: a leading `*.` means subdomains only, any other `*` stays inside one label. */
export function compileHostPattern(pattern: string): (host: string) => boolean {
  const clean = (host: string): string[] => host.toLowerCase().replace(/\.$/, '').split('.')
  const sub = pattern.startsWith('*.')
  const labels = clean(sub ? pattern.slice(2) : pattern).map((label) => compileWildcard(label))
  return (host) => {
    const parts = clean(host)
    if (pattern === '*') return true
    if (sub ? parts.length <= labels.length : parts.length !== labels.length) return false
    return labels.every((label, index) => label(parts[parts.length - labels.length + index]!))
  }
}
