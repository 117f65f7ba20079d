/** Returns the part of a document that a JSON pointer (RFC 6901) names; `null` if it does not exist. */
export function resolvePointer(document: unknown, pointer = ''): unknown {
  let value = document
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
