import { lstatSync } from 'node:fs'
import { join, relative } from 'node:path'
import { canOverlap, listIgnorePatterns } from '../../../core/text/index.js'
import { readKnownParts, type Word } from '../shell/index.js'
import type { CallFacts } from './facts.js'
import { hasFolderLike, type LineFolders } from './expand_words.js'
import type { Rule } from './rule.js'
import { resolveOnMachine } from './word_paths.js'

/** A word that only the run decides, as patterns of its paths: `*` stands for any characters. */
export interface OpenWord {
  text: string
  patterns: string[]
  /** True if the word may name a file in any folder. */
  isAnywhere: boolean
}

/**
 * Returns how far only the run decides which file a word names; `undefined` if the word and its folder are known.
 * `isTarget`: the word is the target of a redirection, which is exactly one word.
 */
export function readOpenWord(
  word: Word,
  folders: LineFolders,
  { workspace: { root, user } }: CallFacts,
  isTarget = false,
): OpenWord | undefined {
  const { text } = word
  const shown = text.slice(0, 80)
  const isKnown = folders.paths.every((folder) => folders.expand(word, folder) !== undefined)
  if (isKnown && (!folders.hasUnknown || isNeverRelative(text))) return undefined
  if (word.kind !== 'dynamic') return { text: shown, patterns: [`*/${toWide(text)}`, toWide(text)], isAnywhere: true }
  const { head, tail } = readKnownParts(word, isTarget)
  const at = head.lastIndexOf('/') + 1
  const start = head.slice(at)
  const places = folders.paths.map((folder) => resolveOnMachine(head.slice(0, at) || '.', folder, user))
  // An expansion may go on in a folder, and from there to any other.
  if (start === '' || places.some((place) => hasFolderLike(place, start)))
    return { text: shown, patterns: [`*${tail}`], isAnywhere: true }
  const ends = places.map((place) => `${place}/${start}*${tail}`)
  return {
    text: shown,
    patterns: folders.hasUnknown
      ? [`*/${head}*${tail}`]
      : [`${head}*${tail}`, ...ends, ...ends.map((end) => relative(root, end))],
    isAnywhere: false,
  }
}

/** Checks for an option or an absolute path. */
const isNeverRelative = (text: string): boolean => /^([-/~]|\$\{?HOME)/.test(text)
/** Replaces the parts of a pattern with another meaning by `*` and `?`. */
const toWide = (pattern: string): string => pattern.replace(/\\./gs, '?').replace(/\[.*\]/s, '*')

/** Checks whether a rule on paths may cover what a word names. */
export const canCover = ({ pattern = '', base }: Rule, word: OpenWord, root: string): boolean =>
  listIgnorePatterns(pattern).some((one) => canPatternCover(one, base, word, root))

function canPatternCover(pattern: string, base: string | undefined, { patterns }: OpenWord, root: string): boolean {
  const anchored = base === undefined ? pattern.replace(/^\.?\//, '') : pattern
  const plain = anchored.replace(/\/$|\/\*\*$/, '')
  const own = toWide(plain).replaceAll('**/', '*')
  const isBare = anchored === pattern && !plain.includes('/')
  // A folder that a rule covers is covered with its content.
  const hasContent =
    plain !== anchored || own.endsWith('*') || isDirectory(join(base === undefined ? root : '/', plain))
  const covered = hasContent ? [own, `${own}/*`] : [own]
  return patterns
    .flatMap((one) => (isBare ? [one, ...listEnds(one)] : [one]))
    .some((one) => covered.some((other) => canOverlap(one, other)))
}

const isDirectory = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
/** Returns the ends after each `/`. */
export const listEnds = (path: string): string[] => [...path.matchAll(/\//g)].map(({ index }) => path.slice(index + 1))
