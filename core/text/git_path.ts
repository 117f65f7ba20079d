const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
}

/**
 * Returns the path that git writes in a header of a diff: in quotes with the escapes of C, bytes in octal, if it has
 * control characters, quotes, backslashes or, by default, characters beyond ASCII. Ends before a tab outside quotes,
 * which separates a path from a date or a revision.
 */
export function parseGitPath(text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(text)?.[1]
  if (quoted === undefined) return text.includes('\t') ? text.split('\t', 1)[0]! : text.trimEnd()
  const bytes = [...quoted.matchAll(/\\([0-7]{1,3})|\\(.)|([^\\]+)/gs)].map(([, octal, escape, plain]) =>
    octal === undefined ? Buffer.from(plain ?? ESCAPES[escape!] ?? escape!) : Buffer.from([Number.parseInt(octal, 8)]),
  )
  return Buffer.concat(bytes).toString()
}

/** Returns both paths of a line `diff --git`, with their prefixes; `undefined` if the line alone does not show them. */
export function parseGitHeader(line: string): [old: string, now: string] | undefined {
  const names = line.replace(/^diff --git /, '')
  const [first] = /^"(?:[^"\\]|\\.)*"/.exec(names) ?? []
  const quoted = / "(?:[^"\\]|\\.)*"$/.exec(names)
  const split = first?.length ?? quoted?.index
  if (split !== undefined) return [parseGitPath(names.slice(0, split)), parseGitPath(names.slice(split + 1))]
  // Both names are the same but for the prefix, so the space between them is in the middle.
  const middle = (names.length - 1) / 2
  const [old, now] = [names.slice(0, middle), names.slice(middle + 1)]
  const bare = (path: string) => path.slice(path.indexOf('/') + 1)
  return names[middle] === ' ' && bare(old) === bare(now) ? [old, now] : undefined
}
