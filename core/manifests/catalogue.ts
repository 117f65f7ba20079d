import { readFileSync, statSync } from 'node:fs'
import { deepFreeze, type Manifest } from '../shapes/index.js'

/** A manifest of the program, checked by the build, with its path below the folder of the catalogue. */
export interface CatalogueEntry {
  readonly file: string
  readonly manifest: Manifest
}

/** The catalogue that was read last, with what tells whether its file is still the same. */
let last: { identity: string; entries?: readonly CatalogueEntry[] } | undefined

/**
 * Returns the entries of a catalogue, `undefined` where there is none. A program that builds several generations parses the catalogue for
 * its first and its second, and keeps the second frozen for all others: one that builds a single generation does not pay for the freezing.
 */
export function readCatalogue(file: string): readonly CatalogueEntry[] | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) return undefined
  const identity = [file, stat.ino, stat.size, stat.mtimeMs].join()
  const known = last?.identity === identity ? last : undefined
  if (known?.entries) return known.entries
  const entries = JSON.parse(readFileSync(file, 'utf8')) as CatalogueEntry[]
  last = known ? { identity, entries: deepFreeze(entries) } : { identity }
  return entries
}
