import type {
  CallHierarchyIncomingCall,
  CallHierarchyItem,
  CallHierarchyOutgoingCall,
} from 'vscode-languageserver-protocol'
import type { Handler } from '../../core/index.js'
import {
  askAboutSymbol,
  createPlacesAnswer,
  readPlaces,
  sortPlaces,
  type PageInput,
  type TargetInput,
} from '../lib/symbols/index.js'

type Input = PageInput & TargetInput & { direction: 'incoming' | 'outgoing' }
type HierarchyCall = Partial<CallHierarchyIncomingCall & CallHierarchyOutgoingCall>

/** Functions of one name whose calls are listed. */
const MAX_ITEMS = 16

/** Lists the functions that call a function, or those that it calls. */
const calls: Handler<Input> = async ({ input, given }, context) => {
  const { workspace } = context
  const query = { needs: 'callHierarchyProvider', ready: true } as const
  const found = await askAboutSymbol(input, context, query, async (place, { send }) => {
    const items = await send('textDocument/prepareCallHierarchy', place)
    const answers: unknown[] = []
    for (const item of (Array.isArray(items) ? items : []).slice(0, MAX_ITEMS))
      answers.push(await send(`callHierarchy/${input.direction}Calls`, { item: item as object }))
    return answers.flat() as HierarchyCall[]
  })
  const listed = found.flatMap((call) => readCall(call, input.direction))
  const places = listed.flatMap(({ location, label }) =>
    readPlaces(location, workspace).places.map((place) => ({ ...place, label })),
  )
  const next = { tool: 'unified_search', input: { action: 'calls', ...given } }
  const outside = listed.length - places.length
  return createPlacesAnswer({ places: sortPlaces(places), outside }, input, next, { workspace, what: 'call' })
}
export default calls

/** Returns the places of one call with the name of its function: the calls in a caller, or the called function. */
function readCall({ from, to, fromRanges }: HierarchyCall, direction: Input['direction']) {
  const item: Partial<CallHierarchyItem> | undefined = direction === 'incoming' ? from : to
  if (typeof item?.name !== 'string') return []
  const ranges: unknown[] = direction === 'incoming' && Array.isArray(fromRanges) ? fromRanges : [item.selectionRange]
  return ranges.map((range) => ({ location: { uri: item.uri, range }, label: item.name! }))
}
