import { redactText } from '../../../core/text/index.js'
import {
  AgentError,
  createUuid,
  type Clock,
  type MessageOrigin,
  type Msg,
  type Random,
  type Store,
} from '../base/index.js'

interface Pending {
  id: string
  text: string
  origin: MessageOrigin
  created_at: string
}
interface Content {
  v: 1
  pending: Pending[]
  applied: string[]
}
const most = { pending: 16, applied: 64 }

/** Inputs that wait for the next idle boundary. An accepted input is on disk and is taken exactly once. */
export class Queue {
  private content: Content = { v: 1, pending: [], applied: [] }
  private tail: Promise<unknown> = Promise.resolve()
  private readonly waiting: (() => void)[] = []

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** Loads the inputs of an earlier process; `known` are the ids that its journal has. */
  async load(known: readonly string[]): Promise<void> {
    const text = await this.store.read('queue.json')
    if (text === undefined) return
    const { pending, applied, seal } = parseContent(text)
    // Only text of this user may become a prompt.
    const own = seal === this.store.mark(formatBody({ v: 1, pending, applied }))
    if (!own)
      throw new AgentError('VT_SESSION_FOREIGN', 'queue.json of the session has no valid seal of yours.', {
        hint: 'Look what waits in it, then delete the file.',
      })
    this.content = {
      v: 1,
      pending: pending.filter(({ id }) => !known.includes(id)),
      applied: [...new Set([...applied, ...known])].slice(-most.applied),
    }
  }

  /** The pending inputs, the oldest first. */
  get pending(): readonly Pending[] {
    return this.content.pending
  }

  /** Adds an input once per id and returns the id. Throws VT_LOOP_QUEUE_FULL. */
  async add(
    text: string,
    {
      id = createUuid(this.random),
      origin = 'queue',
      first = false,
    }: { id?: string; origin?: MessageOrigin; first?: boolean } = {},
  ): Promise<string> {
    const { pending, applied } = this.content
    if (applied.includes(id) || pending.some((one) => one.id === id)) return id
    if (pending.length >= most.pending)
      throw new AgentError('VT_LOOP_QUEUE_FULL', `${most.pending} inputs wait already; this one was not taken.`)
    const one = { id, text: redactText(text), origin, created_at: new Date(this.clock.now()).toISOString() }
    await this.save({ pending: first ? [one, ...pending] : [...pending, one], applied })
    for (const wake of this.waiting.splice(0)) wake()
    return id
  }

  /** Resolves when the next input is accepted. */
  waitForInput(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  /** Returns the oldest input, which stays pending until `markApplied` confirms that the journal has it. */
  async next(): Promise<Msg | undefined> {
    const [first] = this.content.pending
    return (
      first && { role: 'user', parts: [{ type: 'text', text: first.text }], origin: first.origin, intent_id: first.id }
    )
  }

  markApplied(id: string): Promise<void> {
    const { pending, applied } = this.content
    return this.save({
      pending: pending.filter((one) => one.id !== id),
      applied: [...applied, id].slice(-most.applied),
    })
  }

  /** Empties the queue and returns the texts. */
  async takeBack(): Promise<string[]> {
    const { pending, applied } = this.content
    if (pending.length > 0)
      await this.save({ pending: [], applied: [...applied, ...pending.map(({ id }) => id)].slice(-most.applied) })
    return pending.map(({ text }) => text)
  }

  private save(content: Omit<Content, 'v'>): Promise<void> {
    this.content = { v: 1, ...content }
    const saved = this.tail.then(() => this.store.write('queue.json', sealContent(this.content, this.store)))
    this.tail = saved.catch(() => {})
    return saved
  }
}

const formatBody = ({ pending, applied }: Content): string => JSON.stringify({ v: 1, pending, applied })
const sealContent = (content: Content, store: Store): string =>
  JSON.stringify({ ...content, seal: store.mark(formatBody(content)) })

/** Seals the inputs of another user with the mark of this user. */
export async function adoptQueue(store: Store): Promise<void> {
  const text = await store.read('queue.json')
  if (text !== undefined) await store.write('queue.json', sealContent(parseContent(text), store))
}

/** Parses the queue. Throws VT_SESSION_CORRUPT: an accepted input is never dropped silently. */
function parseContent(text: string): Content & { seal?: string } {
  try {
    const content = JSON.parse(text) as Content & { seal?: string }
    if (
      content.pending.every(({ id, text }) => typeof id === 'string' && typeof text === 'string') &&
      Array.isArray(content.applied)
    )
      return content
  } catch {
    // Invalid JSON and an invalid shape have the same error.
  }
  throw new AgentError('VT_SESSION_CORRUPT', 'queue.json of the session is damaged.', {
    hint: 'Look what waits in it, then delete the file.',
  })
}
