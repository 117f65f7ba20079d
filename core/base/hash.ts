// Loaded when something is hashed: most starts hash nothing.
export const sha256 = (data: string | Uint8Array, form: 'hex' | 'base64' | 'base64url' = 'hex'): string =>
  process.getBuiltinModule('node:crypto').hash('sha256', data, form)

/** The order of the bytes, which no locale changes. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
