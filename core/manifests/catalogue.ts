import { readFileSync, statSync } from 'node:fs'
import { deepFreeze, type Manifest } from '../shapes/index.js'

/** A manifest of the program, checked by the build, with its path below the folder of the catalogue. */
export interface CatalogueEntry {
  readonly file: string
  readonly manifest: Manifest
}

/** The catalogue that was read last, with the identity of its file. */
let lastCatalogue: { identity: string; entries?: readonly CatalogueEntry[] } | undefined

/**
 * Returns the entries of a catalogue, `undefined` where there is none. The second read is frozen and kept for all later
 * generations; a program that builds one generation does not pay for the freezing.
 */
export function readCatalogue(file: string): readonly CatalogueEntry[] | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) return undefined
  const identity = [file, stat.ino, stat.size, stat.mtimeMs].join()
  const known = lastCatalogue?.identity === identity ? lastCatalogue : undefined
  if (known?.entries) return known.entries
  const entries = JSON.parse(readFileSync(file, 'utf8')) as CatalogueEntry[]
  lastCatalogue = known ? { identity, entries: deepFreeze(entries) } : { identity }
  return entries
}
