import type { Booted } from 'vtcode/test'
import { asDeclared } from './answers.js'

/** Calls a slot of grep_search with the input; what it answers, its text included. A refusal is thrown. */
export const asked =
  (action: 'fuzzy' | 'similarity') =>
  async ({ call }: Booted, input: object): Promise<any> => {
    const result = await asDeclared(`grep_search/${action}`, await call(`grep_search/${action}`, { ...input }))
    if (!result.ok) throw new Error(JSON.stringify(result.error))
    return { ...result.output, text: result.text }
  }
