import type { Document, Node, Pair, YAMLMap } from 'yaml'

type Yaml = typeof import('yaml')

/**
 * Sets or removes one value of a YAML text by changing its lines only; `undefined` if the text has another form than
 * block maps and plain values.
 */
export function editYamlLines(text: string, keys: readonly string[], value: unknown, yaml: Yaml): string | undefined {
  const tree = yaml.parseDocument(text)
  const found = findPairs(tree, keys, yaml)
  if (!found) return undefined
  const { pairs, holder } = found
  if (pairs.length === keys.length)
    return value === undefined ? removeLines(text, found, yaml) : replaceScalar(text, pairs.at(-1)!, value, yaml)
  if (value === undefined) return text
  const inner = keys.slice(pairs.length).reduceRight<unknown>((one, key) => ({ [key]: one }), value)
  return insertLines(text, holder, yaml.stringify(inner, { lineWidth: 0 }), yaml)
}

interface FoundPairs {
  /** The pairs on the path that exist, outer ones first. */
  pairs: Pair<Node, Node | null>[]
  maps: YAMLMap<Node, Node | null>[]
  /** The innermost map on the path; absent in an empty document. */
  holder: YAMLMap<Node, Node | null> | undefined
}

function findPairs(tree: Document, keys: readonly string[], yaml: Yaml): FoundPairs | undefined {
  const pairs: FoundPairs['pairs'] = []
  const maps: FoundPairs['maps'] = []
  let node = tree.contents as Node | null
  for (const key of keys) {
    if (node === null) break
    if (!yaml.isMap(node) || node.flow === true || node.anchor !== undefined) return undefined
    maps.push(node as YAMLMap<Node, Node | null>)
    const pair = node.items.find((one) => yaml.isScalar(one.key) && one.key.value === key)
    if (!pair) break
    pairs.push(pair as Pair<Node, Node | null>)
    node = pair.value as Node | null
  }
  return { pairs, maps, holder: maps[pairs.length] ?? (node === null && pairs.length === 0 ? undefined : maps.at(-1)) }
}

function replaceScalar(text: string, pair: Pair<Node, Node | null>, value: unknown, yaml: Yaml): string | undefined {
  const { value: node } = pair
  const line = yaml.stringify(value, { lineWidth: 0 }).replace(/\n$/, '')
  const isPlain = yaml.isScalar(node) && node.range && node.anchor === undefined && node.tag === undefined
  if (!isPlain || line.includes('\n') || typeof value === 'object') return undefined
  const [start, end] = node.range!
  if (text.slice(start, end).includes('\n') || start === end) return undefined
  return text.slice(0, start) + line + text.slice(end)
}

/** Removes a pair and the maps that would be empty without it. */
function removeLines(text: string, { pairs, maps }: FoundPairs, yaml: Yaml): string | undefined {
  let at = pairs.length - 1
  while (at > 0 && maps[at]!.items.length === 1) at--
  const { key } = pairs[at]!
  const start = findLineStart(text, key.range![0])
  const end = findEndOfLine(text, findValueEnd(pairs[at]!, yaml))
  // A removed map may not take comments of others with it.
  const isOwn = at === pairs.length - 1 || !text.slice(start, end).includes('#')
  return isOwn && text.slice(start, key.range![0]).trim() === '' ? text.slice(0, start) + text.slice(end) : undefined
}

function insertLines(text: string, holder: FoundPairs['holder'], lines: string, yaml: Yaml): string | undefined {
  const last = holder?.items.at(-1)
  if (holder && !last) return undefined
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const at = last ? findEndOfLine(text, findValueEnd(last, yaml)) : text.length
  const start = last ? holder!.items[0]!.key.range![0] : 0
  const indent = text.slice(findLineStart(text, start), start)
  if (indent.trim() !== '') return undefined
  const before = text.slice(0, at)
  const more = lines.replace(/^(?=.)/gm, indent).replaceAll('\n', lineEnd)
  const isEnded = before === '' || before.endsWith('\n')
  return before + (isEnded ? more : lineEnd + more.slice(0, -lineEnd.length)) + text.slice(at)
}

/** Returns the offset after the last value of a pair. */
function findValueEnd({ key, value }: Pair<Node, Node | null>, yaml: Yaml): number {
  if (yaml.isMap(value) && value.flow !== true && value.items.length > 0)
    return findValueEnd(value.items.at(-1) as Pair<Node, Node | null>, yaml)
  return (value ?? key).range![1]
}

const findLineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1
function findEndOfLine(text: string, at: number): number {
  if (at > 0 && text[at - 1] === '\n') return at
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}
