import { withoutInvisible, type Manifest } from '../base/index.js'

const shown = ['title', 'description', 'docs', 'license', 'author', 'errors', 'input', 'output']

/** The manifest with all texts for models and users cleaned; the same object when no text needs cleaning. */
export function sanitize(manifest: Manifest): Manifest {
  const wash = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const text = withoutInvisible(value)
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
