import type { NapiConfig, SgNode } from '@ast-grep/napi'
import { createPauser } from '../base/index.js'
import type { Language } from './languages.js'
import { shortenName } from './outline.js'
import type { OutlineItem } from './types.js'
import { createPositions } from './positions.js'
import type { Extractor } from './extractor.js'
import { loadScriptRules, unmarkItems } from './script_rules.js'

/** A rule for the library. Each rule binds its own variable, which identifies the rule of a node. */
interface LibraryRule {
  extractor: Extractor
  variable: string
  rule: unknown
}
const known = new Map<string, LibraryRule[]>()

function loadLibraryRules(language: Language): LibraryRule[] {
  let rules = known.get(language.id)
  if (!rules) {
    rules = loadScriptRules(language)!.map((extractor, index) => {
      const variable = `NAME${index}`
      const rule = JSON.parse(JSON.stringify(extractor.rule).replaceAll('$NAME', `$${variable}`)) as unknown
      return { extractor, variable, rule }
    })
    known.set(language.id, rules)
  }
  return rules
}

/** Returns the rules that can match in a text: parsing all rules takes longer than searching a short text. */
function selectRules(text: string, language: Language): LibraryRule[] {
  const tested = new Map<string | RegExp, boolean>()
  const isHeld = (word: string | RegExp): boolean => {
    if (!tested.has(word)) tested.set(word, typeof word === 'string' ? text.includes(word) : word.test(text))
    return tested.get(word)!
  }
  return loadLibraryRules(language).filter(({ extractor }) => extractor.needs.every(isHeld))
}

/**
 * Returns the items of a script from a tree parsed by ast-grep's library, by the rules of the program. `undefined`
 * for a text with syntax errors: error recovery depends on the encoding, and only the program reads bytes.
 */
export async function outlineScript(
  root: SgNode,
  text: string,
  language: Language,
): Promise<OutlineItem[] | undefined> {
  // A token that the parser added has no length; an empty script has no such node but its root.
  if (text !== '' && root.find({ rule: { regex: '^$' } })) return undefined
  const rules = selectRules(text, language)
  const byKind = new Map<string, LibraryRule[]>()
  for (const one of rules) {
    const { kind } = one.extractor.rule
    byKind.set(kind, [...(byKind.get(kind) ?? []), one])
  }
  const at = createPositions(text)
  const items: OutlineItem[] = []
  let [end, endOfMember, holder] = [0, 0, '']
  const pause = createPauser()
  const config = { rule: { any: [{ kind: 'ERROR' }, ...rules.map(({ rule }) => rule)] } } as NapiConfig
  for (const node of root.findAll(config)) {
    await pause()
    const astKind = node.kind() as string
    if (astKind === 'ERROR') return undefined
    const range = node.range()
    const [from, to] = [range.start.index, range.end.index]
    // A node inside an item is its member or is ignored; a node inside a member is ignored.
    if (from < endOfMember) continue
    const isInside = from < end
    for (const { extractor, variable } of byKind.get(astKind) ?? []) {
      const { id, role, symbolType: kind, parentRuleIds, isImport = false, isExported = false } = extractor
      if (isInside ? !parentRuleIds?.includes(holder) : role === 'member') continue
      const written = node.getMatch(variable)
      if (!written) continue
      const name = shortenName(extractor.name.replace('$NAME', () => written.text()))
      const isOneLine = range.start.line === range.end.line
      const signature = (
        isOneLine ? text.slice(from, to) : readLine(text, written.range().start.index, from, to)
      ).trim()
      const line_number = range.start.line + 1
      if (isInside) {
        endOfMember = to
        items.at(-1)!.members.push({ role, kind, name, signature, isPublic: extractor.isPublic!, line_number })
      } else {
        ;[end, holder] = [to, id]
        const places = { line_number, end_line: range.end.line + 1, range: at.range(range) }
        items.push({ role, kind, name, signature, astKind, isImport, isExported, ...places, members: [] })
      }
      break
    }
  }
  return unmarkItems(items)
}

/** Returns the line at `place`, clipped to the range `from`–`to`. */
function readLine(text: string, place: number, from: number, to: number): string {
  const line = text.indexOf('\n', place)
  return text.slice(Math.max(from, text.lastIndexOf('\n', place - 1) + 1), line < 0 ? to : Math.min(line, to))
}
