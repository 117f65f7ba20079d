/** Module hooks, run by Node in a thread of its own: the bare names `vtcode` and `vtcode/test` are the running program. */
const names = new Map([
  ['vtcode', new URL('../index.js', import.meta.url).href],
  ['vtcode/test', new URL('../../test/kit.js', import.meta.url).href],
])

type Resolved = { url: string; shortCircuit?: boolean }

export async function resolve(specifier: string, context: unknown, next: (specifier: string, context: unknown) => Promise<Resolved>): Promise<Resolved> {
  const url = names.get(specifier)
  return url ? { url, shortCircuit: true } : next(specifier, context)
}
