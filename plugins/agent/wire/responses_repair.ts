import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { readEndReason } from './end_reasons.js'
import { createServerFault, Cut, findServerError } from './fault.js'
import type { Repair } from './repair_types.js'
import { completeItem, readItemText, repairItem, type ItemKind } from './responses_items.js'
import { joinUsage, toArgumentText, toCount, toName, toObject, toObjects, toOptionalText } from './shapes.js'

interface OpenItem {
  id: string
  kind: ItemKind
  output_index: number
  /** The text, input or summary that arrived as deltas. */
  text: string
  isDone: boolean
}
const DELTAS: Readonly<Record<string, ItemKind>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.function_call_arguments.delta': 'function_call',
  'response.custom_tool_call_input.delta': 'custom_tool_call',
  'response.reasoning_summary_text.delta': 'reasoning',
}
/** The words of the client library for the meanings of an end; `stop` and calls have none. */
const REASONS = { stop: null, 'tool-calls': null, length: 'max_output_tokens', 'content-filter': 'content_filter' }
/** Events that say nothing that the end of their item does not. */
const PASSED = /^response\.(refusal\.done|reasoning_summary_part\.(added|done))$/

/** Repairs answers of the Responses format, streamed or whole. */
export class ResponsesRepair implements Repair {
  ended = false
  private readonly items: OpenItem[] = []
  /** Items by the index of the server. */
  private readonly places = new Map<number, OpenItem>()

  repair(event: JsonObject): JsonObject[] {
    const type = toName(event['type']) ?? ''
    const error = type === 'response.failed' ? undefined : findServerError(event)
    if (error !== undefined) throw createServerFault(error, 500)
    // A whole answer instead of a stream.
    if (event['object'] === 'response' || (type === '' && Array.isArray(event['output']))) return this.end(event)
    const last = /^response\.(completed|incomplete|failed|done|cancelled)$/.exec(type)
    if (last) return this.end({ status: last[1] === 'done' ? 'completed' : last[1]!, ...toObject(event['response']) })
    if (type === 'response.output_item.added') return this.add(event, toObject(event['item']))
    if (type === 'response.output_item.done') return this.complete(event, toObject(event['item']))
    if (Object.hasOwn(DELTAS, type)) return this.grow(type, DELTAS[type]!, event)
    if (PASSED.test(type)) return this.passPart(event)
    return []
  }

  /** A server that marks the end after its last item has sent everything. */
  finish(): JsonObject[] {
    const isWhole = this.items.length > 0 && this.items.every(({ isDone }) => isDone)
    return this.ended || !isWhole ? [] : this.end({ status: 'completed' })
  }

  private add({ output_index }: JsonObject, item: JsonObject): JsonObject[] {
    const known = this.find(toName(item['id']), toCount(output_index))
    if (known) return []
    const fixed = repairItem(item, `item_${this.items.length}`)
    if (!fixed) return []
    const added: OpenItem = {
      id: fixed.id,
      kind: fixed.type,
      output_index: this.items.length,
      text: '',
      isDone: false,
    }
    this.items.push(added)
    this.places.set(toCount(output_index) ?? added.output_index, added)
    return [{ type: 'response.output_item.added', output_index: added.output_index, item: { ...fixed } }]
  }

  private find(id: string | undefined, index: number | undefined): OpenItem | undefined {
    const named = id === undefined ? undefined : this.items.find((item) => item.id === id)
    return named ?? (index === undefined ? undefined : this.places.get(index))
  }

  private grow(type: string, kind: ItemKind, event: JsonObject): JsonObject[] {
    const delta = toArgumentText(event['delta'])
    const index = toCount(event['output_index'])
    const named = this.find(toName(event['item_id']), index) ?? this.items.findLast((item) => item.kind === kind)
    const begun = named && !named.isDone ? [] : kind === 'message' ? this.add(event, { type: kind }) : undefined
    if (!begun) return []
    const item = begun.length > 0 ? this.items.at(-1)! : named!
    item.text += delta
    const { id: item_id, output_index } = item
    const summary = kind === 'reasoning' ? { summary_index: toCount(event['summary_index']) ?? 0 } : {}
    return [...begun, { type, item_id, output_index, ...summary, delta }]
  }

  private passPart(event: JsonObject): JsonObject[] {
    const item = this.find(toName(event['item_id']), toCount(event['output_index']))
    if (!item || item.isDone) return []
    const { id: item_id, output_index } = item
    if (event['type'] === 'response.refusal.done')
      return [{ type: event['type'], item_id, refusal: toOptionalText(event['refusal']) ?? '' }]
    return [{ type: event['type']!, item_id, output_index, summary_index: toCount(event['summary_index']) ?? 0 }]
  }

  /** Ends an item; sends first what only its end contains. */
  private complete(event: JsonObject, item: JsonObject): JsonObject[] {
    const waiting = this.findUnnamed(event, item)
    const begun = waiting ? [] : this.add(event, item)
    const added = begun.length > 0 ? this.items.at(-1) : undefined
    const open = waiting ?? this.find(toName(item['id']), toCount(event['output_index'])) ?? added
    if (!open || open.isDone) return begun
    open.isDone = true
    const { id, kind, output_index } = open
    const content = readItemText(kind, item)
    const done = completeItem(item, { id, kind, text: content.text || open.text })
    return [
      ...begun,
      ...createLateEvents(open, content),
      { type: 'response.output_item.done', output_index, item: done },
    ]
  }

  /** Finds the open item that ends without an id and an index. */
  private findUnnamed({ output_index }: JsonObject, { id, type }: JsonObject): OpenItem | undefined {
    const isNamed = toName(id) !== undefined || toCount(output_index) !== undefined
    return isNamed ? undefined : this.items.findLast(({ kind, isDone }) => kind === type && !isDone)
  }

  private end(response: JsonObject): JsonObject[] {
    const { status, error, output } = response
    const details = response['incomplete_details']
    // Servers without details have one reason for an incomplete answer.
    const isCut = status === 'incomplete' && details === undefined
    const reason = isCut ? 'max_output_tokens' : toName(toObject(details)['reason'])
    if (isObject(error) || typeof error === 'string') throw createServerFault(error, 500)
    const isComplete = status === undefined || status === null || status === 'completed'
    if (!isComplete && reason === undefined)
      throw new Cut(`The answer broke off: the response is ${toName(status) ?? 'not complete'}.`)
    const meaning = reason === undefined ? undefined : readEndReason('openai-responses', reason)
    // Items that no event announced.
    const late = toObjects(output).flatMap((item, index) => {
      const known = this.find(toName(item['id']), index)
      return known?.isDone ? [] : this.complete({ output_index: index }, item)
    })
    this.ended = true
    const usage = repairUsage(response['usage'])
    return [
      ...late,
      {
        type: meaning === undefined ? 'response.completed' : 'response.incomplete',
        response: { ...(meaning && { incomplete_details: { reason: REASONS[meaning] } }), ...(usage && { usage }) },
      },
    ]
  }
}

/** Creates the events of content that arrived only with the end of its item. */
function createLateEvents(
  { id, kind, output_index, text: known }: OpenItem,
  { text, isRefusal }: { text: string; isRefusal: boolean },
): JsonObject[] {
  const refusal = isRefusal ? [{ type: 'response.refusal.done', item_id: id, refusal: text }] : []
  if (known !== '' || text === '') return refusal
  const place = { item_id: id, output_index, delta: text }
  if (kind === 'message') return [{ type: 'response.output_text.delta', ...place }, ...refusal]
  return kind === 'reasoning' ? [{ type: 'response.reasoning_summary_text.delta', summary_index: 0, ...place }] : []
}

/** Returns the usage if the server counted both ways. */
function repairUsage(value: unknown): JsonObject | undefined {
  const usage = joinUsage(undefined, value)
  const hasCounts = toCount(usage?.['input_tokens']) !== undefined && toCount(usage?.['output_tokens']) !== undefined
  return hasCounts ? usage : undefined
}
