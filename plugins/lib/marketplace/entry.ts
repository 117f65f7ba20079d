import { isObject, omitUndefined, type JsonObject } from '../../../core/shapes/index.js'
import { readListedParts } from './listed_parts.js'

/** The facts of an entry about its plugin. All text is untrusted. */
export interface MarketplaceEntry {
  description?: string
  version?: string
  author?: string
  homepage?: string
  license?: string
  keywords: string[]
  /** The parts that the entry lists for its plugin. */
  listed?: JsonObject
}

const MAX_TEXT = 500

/** Returns the first 500 characters of a text; nothing for other values and an empty text. */
export const toShortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : undefined

/** Reads the facts of an entry about its plugin, without name and source. */
export function readEntry(entry: JsonObject): MarketplaceEntry {
  const { description, version, author, homepage, license, keywords, tags, category } = entry
  const words = [keywords, tags, [category]]
    .flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : []))
    .flatMap((one) => toShortText(one) ?? [])
  return {
    ...omitUndefined({
      description: toShortText(description),
      version: toShortText(version),
      author: toShortText(isObject(author) ? author['name'] : author),
      homepage: toShortText(homepage),
      license: toShortText(license),
      listed: readListedParts(entry),
    }),
    keywords: words.slice(0, 50),
  }
}
