import type { JsonObject } from '../../../core/shapes/index.js'
import { toArgumentText, toCount, toName, toObject } from './shapes.js'

interface OpenCall {
  /** The place of the call in the answer, from 0. */
  place: number
  id?: string | undefined
  name?: string | undefined
  text: string
  extra?: unknown
}

/**
 * The calls of one streamed answer of chat completions. Servers leave out the index or the id, repeat the index of
 * another call, send numbers as ids, and repeat the name with each piece of the arguments.
 */
export class ChatCalls {
  private readonly calls: OpenCall[] = []
  private readonly byIndex = new Map<number, OpenCall>()
  private readonly byId = new Map<string, OpenCall>()

  get hasCalls(): boolean {
    return this.calls.some(({ name }) => name !== undefined)
  }

  /**
   * Converts a piece of a call: each call has an index of its own, and its name is in its first piece only. Pieces
   * before the name are held back; a call that gets no name cannot be made.
   */
  repair(piece: JsonObject): JsonObject[] {
    const called = toObject(piece['function'] ?? piece)
    const [index, id, name] = [toCount(piece['index']), toName(piece['id']), toName(called['name'])]
    const text = toArgumentText(called['arguments'])
    const call = this.find(index, id, { name, text }) ?? this.open(index, id)
    const isFirst = call.name === undefined && name !== undefined
    if (isFirst) call.name = name
    call.text += text
    call.extra ??= piece['extra_content']
    if (call.name === undefined) return []
    const extra = isFirst && call.extra !== undefined ? { extra_content: call.extra } : {}
    return [
      {
        index: call.place,
        ...(isFirst && call.id !== undefined && { id: call.id }),
        type: 'function',
        function: isFirst ? { name: call.name, arguments: call.text } : { arguments: text },
        ...extra,
      },
    ]
  }

  private open(index: number | undefined, id: string | undefined): OpenCall {
    const call: OpenCall = { place: this.calls.length, id, text: '' }
    this.calls.push(call)
    if (index !== undefined) this.byIndex.set(index, call)
    if (id !== undefined) this.byId.set(id, call)
    return call
  }

  /** Finds the call that a piece continues; `undefined` for the first piece of a call. */
  private find(
    index: number | undefined,
    id: string | undefined,
    { name, text }: { name: string | undefined; text: string },
  ): OpenCall | undefined {
    const atIndex = index === undefined ? undefined : this.byIndex.get(index)
    const call = atIndex ?? (id === undefined ? undefined : this.byId.get(id))
    // Without a name no call can begin, so the piece continues the last one.
    if (name === undefined) return call ?? (id === undefined ? this.calls.at(-1) : undefined)
    // A new index with a name begins a call, even with the id of another one.
    if (!call || (index !== undefined && !atIndex)) return undefined
    if (call.name === undefined || (atIndex && id !== undefined && call.id === id)) return call
    return beginsAnother(call, id, { name, text }) ? undefined : call
  }
}

/** Returns whether a piece with a name begins another call than the one in its place. */
function beginsAnother(
  call: OpenCall,
  id: string | undefined,
  { name, text }: { name: string; text: string },
): boolean {
  const hasOtherId = id !== undefined && call.id !== undefined && call.id !== id
  return hasOtherId || call.name !== name || (text !== '' && isComplete(call.text))
}

function isComplete(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
