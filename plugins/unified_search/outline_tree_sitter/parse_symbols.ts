import { programFile, type Context, type Handle } from '../../../core/index.js'
import { createWorker } from '../../lib/base/index.js'
import { getCachedOutline, cacheOutline, readOutlineVersion, type ParsedOutline } from '../../lib/syntax/index.js'
import type { OutlineJobResult, OutlineJob } from './worker.js'

/** Languages with a grammar and a query in this folder. */
export const SERVED = new Set(
  (
    'bash c cpp csharp css dart elixir go haskell hcl html java javascript json lua nix php python ruby rust scala ' +
    'solidity svelte toml tsx typescript vue yaml zig'
  ).split(' '),
)

const parse = createWorker<OutlineJob, OutlineJobResult>(
  programFile('plugins/unified_search/outline_tree_sitter/worker.js'),
  {
    growth_mb: 512,
  },
)

/** Parses the symbols of an open file with tree-sitter. Throws GrammarProblem, WorkerError. */
export async function parseSymbols(
  handle: Handle,
  language: string,
  { host, signal }: Context,
): Promise<ParsedOutline> {
  const version = await readOutlineVersion(handle, `tree-sitter:${language}`)
  const known = getCachedOutline(version)
  if (known) return known
  const drawn = await parse(
    { bytes: await handle.read(0, handle.stat.bytes), language },
    signal,
    host.timeouts.parse / 1000,
  )
  if ('no_grammar' in drawn) throw new GrammarProblem(drawn.no_grammar)
  cacheOutline(version, drawn)
  return drawn
}

/** A grammar that cannot be loaded. */
export class GrammarProblem extends Error {}
