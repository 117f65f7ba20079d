import type { Manifest } from '../base/index.js'

// Control characters except tab and newline, zero-width and bidirectional marks: they show a reader a different text than a model reads.
const controls = '\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f'
const marks = '\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}'
export const invisible = new RegExp(`[${controls}${marks}]`, 'gu')
const shown = ['title', 'description', 'docs', 'license', 'author', 'errors', 'input', 'output']

/** The manifest with all texts for models and users cleaned; the same object when no text needs cleaning. */
export function sanitize(manifest: Manifest): Manifest {
  const wash = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const text = value.replace(invisible, '')
      return (key === 'description' || key === 'title') && text.length > 1024 ? `${text.slice(0, 1023)}…` : text
    }
    if (typeof value !== 'object' || value === null) return value
    let changed = false
    const entries = Object.entries(value).map(([name, item]) => {
      const washed = wash(item, Array.isArray(value) ? key : name)
      changed ||= washed !== item
      return [name, washed] as const
    })
    if (!changed) return value
    return Object.freeze(Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries))
  }
  const entries = Object.entries(manifest).map(([key, value]) => [key, shown.includes(key) ? wash(value, key) : value] as const)
  return entries.every(([key, value]) => manifest[key] === value) ? manifest : Object.freeze(Object.fromEntries(entries))
}
