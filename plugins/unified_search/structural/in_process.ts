import type { NapiConfig, SgNode } from '@ast-grep/napi'
import { mapConcurrently, createPauser } from '../../lib/base/index.js'
import {
  loadAstGrepLibrary,
  isLinearToParse,
  MAX_LINE_UNITS,
  createPositions,
  type Language,
  type Library,
  type Positions,
} from '../../lib/syntax/index.js'
import { placeIn, type EmbeddedCode } from './pages.js'
import { patternRule } from './binary.js'
import { replacementOf, templateOf, type RewriteTemplate } from './template.js'
import type { Captured, Native, StructuralInput } from './types.js'

const grammars = new Set(['html', 'css', 'javascript', 'typescript', 'tsx'])

/** The library where it serves the language and the query. */
export async function libraryFor({ id }: Language, input: StructuralInput): Promise<Library | undefined> {
  if (!grammars.has(id) || (id === 'html' && input.lang === undefined)) return undefined
  // Only the program explains a pattern and grows a fix.
  if (input.debug_query !== undefined || input.fix_config) return undefined
  if (input.workflow === 'rewrite' && !templateOf(input.rewrite!)) return undefined
  return loadAstGrepLibrary()
}

export interface SourceText {
  path: string
  text: string
  /** What is parsed in place of the text: the pieces of it that are code of the language. */
  code?: EmbeddedCode
}
/** When to stop before the end: the caller gave up, or time is over. */
export type Stopping = () => boolean
export interface StructuralMatches {
  matches: Native[]
  /** Files for the program: what does not parse, is deep, or is one long line. */
  broken: Set<string>
  /** What was not looked into, because it was to stop. */
  stopped: boolean
}
/** Texts that are parsed while an earlier one is searched. */
const parsedAhead = 4

/**
 * Looks for the pattern in texts of one language. `undefined` when only the program can answer: a replacement of several lines
 * needs its indentation. Throws the library's own words on a pattern or kind that is none.
 */
export async function lookInProcess(
  { parseAsync }: Library,
  texts: AsyncIterable<SourceText>,
  language: Language,
  input: StructuralInput,
  stopping: Stopping,
): Promise<StructuralMatches | undefined> {
  const found: StructuralMatches = { matches: [], broken: new Set(), stopped: false }
  const names = metavariables(input.pattern ?? '')
  const template = input.workflow === 'rewrite' ? templateOf(input.rewrite!) : undefined
  const config: NapiConfig = {
    rule: { ...patternRule(input), ...(input.kind !== undefined && { kind: input.kind }) } as NapiConfig['rule'],
  }
  const parsed = mapConcurrently(even(texts, found.broken), parsedAhead, async (one) => ({
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
      const native = nativeOf(node, { path, text, at, code, names, language, context_lines: input.context_lines })
      if (template && !replace(native, template)) return undefined
      here.push(native)
      await pause()
      // The whole of what a page embeds is one node, whose ends only the program tells.
      if (code && node.range().end.index > code.end) found.broken.add(path)
    }
    if (!found.broken.has(path)) for (const match of here) found.matches.push(match)
    if (stopping()) {
      found.stopped = true
      break
    }
  }
  return found
}

/** What takes no time by its square; `others` takes the paths of the rest. */
async function* even(texts: AsyncIterable<SourceText>, others: Set<string>): AsyncGenerator<SourceText> {
  for await (const one of texts) {
    if (isLinearToParse(one.text, MAX_LINE_UNITS)) yield one
    else others.add(one.path)
  }
}

interface Names {
  single: string[]
  multi: string[]
}

/** The metavariables that capture, as `$NAME`, `$$NAME` or `$$$NAME`. */
function metavariables(pattern: string): Names {
  const found = [...pattern.matchAll(/(\$+)([A-Z][A-Z0-9_]*)/g)]
  const those = (wanted: (dollars: number) => boolean) => [
    ...new Set(found.filter(([, dollars]) => wanted(dollars!.length)).map(([, , name]) => name!)),
  ]
  return { single: those((dollars) => dollars < 3), multi: those((dollars) => dollars === 3) }
}

interface Around {
  path: string
  text: string
  at: Positions
  code: EmbeddedCode | undefined
  names: Names
  language: Language
  context_lines: number
}

function nativeOf(node: SgNode, { path, text, at, code, names, language, context_lines }: Around): Native {
  const placed = (one: SgNode) => {
    const { start, end } = one.range()
    return code ? { start: placeIn(code, start), end: placeIn(code, end) } : { start, end }
  }
  const captured = (one: SgNode): Captured => {
    const place = placed(one)
    return { text: text.slice(place.start.index, place.end.index), range: at.range(place) }
  }
  const single = names.single.flatMap((name) => {
    const one = node.getMatch(name)
    return one ? [[name, captured(one)] as const] : []
  })
  const multi = names.multi.map((name) => [name, node.getMultipleMatches(name).map(captured)] as const)
  const { start, end } = placed(node)
  let from = text.lastIndexOf('\n', start.index - 1) + 1
  let to = endOfLine(text, end.index)
  for (let line = 0; line < context_lines; line++) {
    from = from < 2 ? 0 : text.lastIndexOf('\n', from - 2) + 1
    if (to < text.length) to = endOfLine(text, to + 1)
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

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/** Gives a match its replacement. False where it spans lines. */
function replace(native: Native, template: RewriteTemplate): boolean {
  const replacement = replacementOf(template, native)
  if (replacement === undefined) return false
  native.replacement = replacement
  native.replacementOffsets = native.range.byteOffset
  return true
}
