import type { NapiConfig, SgNode } from '@ast-grep/napi'
import { mapConcurrently, createPauser } from '../../lib/base/index.js'
import {
  parseRewriteTemplate,
  renderReplacement,
  type Captured,
  type RewriteTemplate,
} from '../../lib/patterns/index.js'
import {
  loadAstGrepLibrary,
  isLinearToParse,
  MAX_LINE_UNITS,
  createPositions,
  toPagePosition,
  type EmbeddedCode,
  type Language,
  type Library,
  type Positions,
} from '../../lib/syntax/index.js'
import { toPatternRule } from './arguments.js'
import type { Native, StructuralInput } from './types.js'

const GRAMMARS = new Set(['html', 'css', 'javascript', 'typescript', 'tsx'])

/** Loads the library if it supports the language and the query. */
export async function loadLibrary({ id }: Language, input: StructuralInput): Promise<Library | undefined> {
  if (!GRAMMARS.has(id) || (id === 'html' && input.lang === undefined)) return undefined
  // Only the program explains a pattern and expands a fix.
  if (input.debug_query !== undefined || input.fix_config) return undefined
  if (input.workflow === 'rewrite' && !parseRewriteTemplate(input.rewrite!)) return undefined
  return loadAstGrepLibrary()
}

export interface SourceText {
  path: string
  text: string
  /** Embedded code of the language, which is parsed instead of the text. */
  code?: EmbeddedCode
}
/** Returns whether to stop early: the call was aborted or timed out. */
export type ShouldStop = () => boolean
export interface StructuralMatches {
  matches: Native[]
  /** Files for the program: with syntax errors, deep nesting or very long lines. */
  broken: Set<string>
  /** The search stopped before its end. */
  stopped: boolean
}
/** Texts parsed while an earlier one is searched. */
const PARSED_AHEAD = 4

/**
 * Searches texts of one language for the pattern. Returns `undefined` for a replacement of several lines, which only
 * the program indents. Throws the error of the library for an invalid pattern or kind.
 */
export async function searchTexts(
  { parseAsync }: Library,
  texts: AsyncIterable<SourceText>,
  language: Language,
  input: StructuralInput,
  shouldStop: ShouldStop,
): Promise<StructuralMatches | undefined> {
  const found: StructuralMatches = { matches: [], broken: new Set(), stopped: false }
  const names = findMetavariables(input.pattern ?? '')
  const template = input.workflow === 'rewrite' ? parseRewriteTemplate(input.rewrite!) : undefined
  const config: NapiConfig = {
    rule: { ...toPatternRule(input), ...(input.kind !== undefined && { kind: input.kind }) } as NapiConfig['rule'],
  }
  const parsed = mapConcurrently(filterLinear(texts, found.broken), PARSED_AHEAD, async (one) => ({
    ...one,
    root: (await parseAsync(language.title, one.code?.text ?? one.text)).root(),
  }))
  const pause = createPauser()
  for await (const { path, text, code, root } of parsed) {
    if (root.find({ rule: { kind: 'ERROR' } })) {
      found.broken.add(path)
      continue
    }
    const at = createPositions(text)
    const here: Native[] = []
    for (const node of root.findAll(config)) {
      const native = toNative(node, { path, text, at, code, names, language, context_lines: input.context_lines })
      if (template && !replace(native, template)) return undefined
      here.push(native)
      await pause()
      // Only the program knows the ends of a node that spans all embedded code of a page.
      if (code && node.range().end.index > code.end) found.broken.add(path)
    }
    if (!found.broken.has(path)) for (const match of here) found.matches.push(match)
    if (shouldStop()) {
      found.stopped = true
      break
    }
  }
  return found
}

/** Yields texts that parse in linear time; adds the paths of the rest to `others`. */
async function* filterLinear(texts: AsyncIterable<SourceText>, others: Set<string>): AsyncGenerator<SourceText> {
  for await (const one of texts) {
    if (isLinearToParse(one.text, MAX_LINE_UNITS)) yield one
    else others.add(one.path)
  }
}

interface Names {
  single: string[]
  multi: string[]
}

/** Finds the capturing metavariables `$NAME`, `$$NAME` and `$$$NAME`. */
function findMetavariables(pattern: string): Names {
  const found = [...pattern.matchAll(/(\$+)([A-Z][A-Z0-9_]*)/g)]
  const those = (wanted: (dollars: number) => boolean) => [
    ...new Set(found.filter(([, dollars]) => wanted(dollars!.length)).map(([, , name]) => name!)),
  ]
  return { single: those((dollars) => dollars < 3), multi: those((dollars) => dollars === 3) }
}

interface MatchSource {
  path: string
  text: string
  at: Positions
  code: EmbeddedCode | undefined
  names: Names
  language: Language
  context_lines: number
}

function toNative(node: SgNode, { path, text, at, code, names, language, context_lines }: MatchSource): Native {
  const toPlace = (one: SgNode) => {
    const { start, end } = one.range()
    return code ? { start: toPagePosition(code, start), end: toPagePosition(code, end) } : { start, end }
  }
  const toCaptured = (one: SgNode): Captured => {
    const place = toPlace(one)
    return { text: text.slice(place.start.index, place.end.index), range: at.range(place) }
  }
  const single = names.single.flatMap((name) => {
    const one = node.getMatch(name)
    return one ? [[name, toCaptured(one)] as const] : []
  })
  const multi = names.multi.map((name) => [name, node.getMultipleMatches(name).map(toCaptured)] as const)
  const { start, end } = toPlace(node)
  let from = text.lastIndexOf('\n', start.index - 1) + 1
  let to = findLineEnd(text, end.index)
  for (let line = 0; line < context_lines; line++) {
    from = from < 2 ? 0 : text.lastIndexOf('\n', from - 2) + 1
    if (to < text.length) to = findLineEnd(text, to + 1)
  }
  return {
    file: path,
    text: text.slice(start.index, end.index),
    lines: text.slice(from, to),
    language: language.title,
    range: at.range({ start, end }),
    charCount: { leading: at.points(from, start.index), trailing: at.points(end.index, to) },
    metaVariables: { single: Object.fromEntries(single), multi: Object.fromEntries(multi), transformed: {} },
  }
}

function findLineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/** Adds the replacement to a match. Returns false if it spans lines. */
function replace(native: Native, template: RewriteTemplate): boolean {
  const replacement = renderReplacement(template, native)
  if (replacement === undefined) return false
  native.replacement = replacement
  native.replacementOffsets = native.range.byteOffset
  return true
}
