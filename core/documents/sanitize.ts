import type { Manifest } from '../shapes/index.js'
import { removeInvisible } from '../text/index.js'

const TEXT_KEYS = ['title', 'description', 'about', 'docs', 'license', 'author', 'errors', 'input', 'output']
/** Longest text for models and users, in UTF-16 units. */
const MAX_TEXT = 1_024

/** Shortens a text, with a note on its length if it is longer. */
export function truncateText(text: string, longest = MAX_TEXT): string {
  if (text.length <= longest) return text
  const suffix = `… (cut from ${text.length} characters)`
  return `${text.slice(0, longest - suffix.length).replace(/[\ud800-\udbff]$/, '')}${suffix}`
}

/**
 * Returns the manifest with all texts for models and users cleaned and its description limited; the same object if no
 * text changes.
 */
export function sanitize(manifest: Manifest, longest = MAX_TEXT): Manifest {
  const cleanValue = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const text = removeInvisible(value)
      return key === 'description' || key === 'title' || key === 'about'
        ? truncateText(text, value === manifest.description || key === 'about' ? longest : MAX_TEXT)
        : text
    }
    if (typeof value !== 'object' || value === null) return value
    let changed = false
    const entries = Object.entries(value).map(([name, item]) => {
      const cleaned = cleanValue(item, Array.isArray(value) ? key : name)
      changed ||= cleaned !== item
      return [name, cleaned] as const
    })
    if (!changed) return value
    return Object.freeze(Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries))
  }
  const entries = Object.entries(manifest).map(
    ([key, value]) => [key, TEXT_KEYS.includes(key) ? cleanValue(value, key) : value] as const,
  )
  return entries.every(([key, value]) => manifest[key] === value)
    ? manifest
    : Object.freeze(Object.fromEntries(entries))
}
