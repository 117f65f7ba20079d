import type { Context } from '../../../core/contract/index.js'
import type { Language, Library } from '../syntax/index.js'
import { completions, contexts, HOLE, statementContexts } from './contexts.js'
import { parsePattern, spellMetavariables, type PatternNode } from './pattern_tree.js'

/** One way to read a pattern: as written, or as the node of this kind within other code. */
export interface PatternReading {
  /** The pattern with the code around it. */
  pattern: string
  /** Kind of the node of the pattern; absent for a pattern as written. */
  selector?: string
  /** Kinds of all nodes of the pattern; readings with the same shape find the same. */
  shape?: string
  /** Code of this language is read as a statement first. */
  isStatement?: true
}

/** A header begins with a word and something that it is about. */
const HEADER = /^\s*[@#]?[$\w]+\s+[\w$(]/
/** Contexts in which a completed header is tried. */
const MAX_PLACES_OF_HEADER = 3

/** Reads patterns of one language. */
export class PatternReader {
  constructor(
    private readonly language: Language,
    private readonly library: Library | undefined,
    private readonly context: Context,
  ) {}

  /** Returns the reading as a statement where this comes before the pattern as written. */
  async findStatement(pattern: string): Promise<PatternReading | undefined> {
    const [first] = await this.tryContexts(pattern, statementContexts[this.language.id] ?? [])
    return first && { ...first, isStatement: true }
  }

  /** Returns the readings within other code, one of each shape but that of the pattern as written. */
  async findReadings(pattern: string): Promise<PatternReading[]> {
    const [written, readings] = await Promise.all([
      this.tryContext(pattern.trim(), HOLE),
      this.tryContexts(pattern, contexts[this.language.id] ?? []),
    ])
    return readings.filter(({ shape }) => shape !== written?.shape)
  }

  /** Returns whole patterns that begin with the pattern, a possible header without its body, with their readings. */
  async completePattern(pattern: string): Promise<{ whole: string; readings: PatternReading[] }[]> {
    if (!HEADER.test(pattern)) return []
    const header = pattern.trim().replace(/\s*:$/, '')
    const places = (contexts[this.language.id] ?? []).slice(0, MAX_PLACES_OF_HEADER)
    const all = (completions[this.language.id] ?? []).map(async (completion) => {
      const whole = completion.replace(HOLE, () => header)
      const nodes = await parsePattern(whole, this.language, this.library, this.context)
      const asWritten = isSound(nodes, spellMetavariables(whole, this.language)) ? [{ pattern: whole }] : []
      return { whole, readings: [...asWritten, ...(await this.tryContexts(whole, places))] }
    })
    return (await Promise.all(all)).filter(({ readings }) => readings.length > 0)
  }

  private async tryContexts(pattern: string, places: readonly string[]): Promise<PatternReading[]> {
    const code = pattern.trim()
    const readings = await Promise.all(places.map((place) => this.tryContext(code, place)))
    const shapes = new Map(readings.flatMap((reading) => (reading ? [[reading.shape, reading] as const] : [])))
    return [...shapes.values()]
  }

  private async tryContext(code: string, place: string): Promise<PatternReading | undefined> {
    const pattern = place.replace(HOLE, () => code)
    const nodes = await parsePattern(pattern, this.language, this.library, this.context)
    const text = spellMetavariables(pattern, this.language)
    const start = place.indexOf(HOLE)
    const end = start + spellMetavariables(code, this.language).length
    const node = isSound(nodes, text) ? findNode(nodes, text, start, end) : undefined
    if (!node) return undefined
    const within = nodes.slice(nodes.indexOf(node)).filter((one) => one.end <= end && !one.kind.startsWith('MISSING '))
    return { pattern, selector: node.kind, shape: within.map(({ kind }) => kind).join() }
  }
}

/** Returns whether code parses without errors, apart from metavariables where the grammar has no names. */
function isSound(nodes: readonly PatternNode[], text: string): boolean {
  return (
    nodes.length > 0 &&
    nodes.every(({ kind, start, end }) =>
      kind === 'ERROR'
        ? /^[$µ𐀀_z]+[A-Z_]?\w*$/u.test(text.slice(start, end))
        : // The end of a statement is optional in a pattern.
          !kind.startsWith('MISSING ') || /^MISSING (?:;|_.*)$/.test(kind),
    )
  )
}

/** Returns the innermost node that is exactly the pattern; `undefined` if another node has its kind before. */
function findNode(nodes: readonly PatternNode[], text: string, start: number, end: number): PatternNode | undefined {
  const own = nodes.filter((node) => node.start === start && node.end === end)
  // The kind of a token without a name is its text.
  const named = own.filter(
    ({ kind }) => /^[A-Za-z]\w*$/.test(kind) && kind !== text.slice(start, end) && kind !== 'ERROR',
  )
  const node = named.at(-1)
  return node && nodes.find(({ kind }) => kind === node.kind) === node ? node : undefined
}
