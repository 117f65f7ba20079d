import type { Manifest } from '../shapes/index.js'
import { withoutInvisible } from '../text/index.js'

const shown = ['title', 'description', 'about', 'docs', 'license', 'author', 'errors', 'input', 'output']
/** UTF-16 units of a text for models and users. */
const most = 1_024

/** The beginning of a text, with a word on what is left out where it is longer. */
export function cutText(text: string, longest = most): string {
  if (text.length <= longest) return text
  const said = `… (cut, of ${text.length} characters)`
  return `${text.slice(0, longest - said.length).replace(/[\ud800-\udbff]$/, '')}${said}`
}

/** The manifest with all texts for models and users cleaned, its description at most so long; the same object when no text needs cleaning. */
export function sanitize(manifest: Manifest, longest = most): Manifest {
  const wash = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const text = withoutInvisible(value)
      return key === 'description' || key === 'title' || key === 'about'
        ? cutText(text, value === manifest.description || key === 'about' ? longest : most)
        : text
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
  const entries = Object.entries(manifest).map(
    ([key, value]) => [key, shown.includes(key) ? wash(value, key) : value] as const,
  )
  return entries.every(([key, value]) => manifest[key] === value)
    ? manifest
    : Object.freeze(Object.fromEntries(entries))
}
