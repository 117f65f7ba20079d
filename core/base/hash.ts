// Loaded when something is hashed: most starts hash nothing.
export const sha256 = (data: string | Uint8Array, form: 'hex' | 'base64' = 'hex'): string =>
  process.getBuiltinModule('node:crypto').hash('sha256', data, form)

/** The order in which names are taken, the same on every system. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
