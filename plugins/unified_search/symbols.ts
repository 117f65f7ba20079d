import { VtError, type Handler } from '../../core/index.js'
import { askServer, createPlacesAnswer, searchSymbols, sortPlaces, type PageInput } from '../lib/symbols/index.js'

type Input = PageInput & { path: string; query?: string }

/** Lists the symbols of a project whose name fits a query. Without a query the answer is the outline of the path. */
const symbols: Handler<Input> = async ({ input, given }, context) => {
  const { path, query } = input
  const { workspace } = context
  if (query === undefined) {
    const outline = await context.call('unified_search', { action: 'outline', path })
    if (!outline.ok) throw new VtError(outline.error)
    return outline
  }
  const wanted = { needs: 'workspaceSymbolProvider', ready: true } as const
  const found = await askServer({ path, symbol: query }, context, wanted, ({ send }) =>
    searchSymbols(query, send, workspace.root),
  )
  const visible = found.filter((symbol) => workspace.isVisible(symbol.path))
  const places = sortPlaces(visible.map(({ name, kind, ...place }) => ({ ...place, label: `${kind} ${name}` })))
  const next = { tool: 'unified_search', input: { action: 'symbols', ...given } }
  const outside = found.length - visible.length
  return createPlacesAnswer({ places, outside }, input, next, { workspace, what: 'symbol' })
}
export default symbols
