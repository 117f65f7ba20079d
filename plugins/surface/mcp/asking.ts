import type {
  ClientCapabilities,
  InputRequests,
  InputRequiredResult,
  RequestStateCodec,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { shortLine } from '../../../core/text/index.js'
import type {
  Approval,
  Approved,
  Asker,
  CallOptions,
  Client,
  ClientRequest,
  JsonObject,
  Result,
} from '../../../core/index.js'
import { answersOf, formOf } from './form.js'
import type { Sdk } from './sdk.js'

/** What a call takes of the request that asks for it. */
export interface McpRequest {
  readonly mcpReq: Pick<
    ServerContext['mcpReq'],
    'method' | 'inputResponses' | 'requestState' | 'signal' | 'notify' | 'log'
  > & {
    readonly _meta?: ServerContext['mcpReq']['_meta'] | undefined
    readonly envelope?: ServerContext['mcpReq']['envelope'] | undefined
  }
}

/**
 * What the client is asked during a call: approvals and questions by elicitation, and whatever a plugin asks it itself. A call that
 * needs an answer ends without it, the client is asked, and the call comes once more with the answer; an answer to a question of ours
 * counts for exactly the content it was given for.
 */
export class ClientQuestions implements Client {
  readonly capabilities: JsonObject
  readonly state: unknown
  readonly #questions: InputRequests = {}
  readonly #sdk: Sdk
  readonly #codec: RequestStateCodec
  readonly #context: McpRequest
  readonly #answers: Record<string, unknown>
  /** For how long an approval may count. */
  readonly #scopes: string[]
  #left: unknown

  constructor(sdk: Sdk, server: Server, codec: RequestStateCodec, context: McpRequest, lasting: boolean) {
    const { mcpReq } = context
    // The 2026-07-28 revision sends them with each request, the earlier ones once.
    const envelope = mcpReq.envelope as
      | { 'io.modelcontextprotocol/clientCapabilities'?: ClientCapabilities }
      | undefined
    this.capabilities = (envelope?.['io.modelcontextprotocol/clientCapabilities'] ??
      server.getClientCapabilities() ??
      {}) as JsonObject
    this.state = mcpReq.requestState()
    this.#sdk = sdk
    this.#scopes = lasting ? ['once', 'session', 'always'] : ['once', 'always']
    this.#codec = codec
    this.#context = context
    this.#answers = mcpReq.inputResponses ?? {}
  }

  /** Says to a call how a person is asked, where the client can show questions. */
  answer(options: Pick<CallOptions, 'approve' | 'ask'>): void {
    if (!this.#showsForms) return
    options.approve = this.#approve
    options.ask = this.#ask
  }

  get #showsForms(): boolean {
    // Without a mode a client means forms.
    const { form, url } = (this.capabilities as ClientCapabilities).elicitation ?? { url: {} }
    return form !== undefined || url === undefined
  }

  readonly #approve = async ({ call, question, covers }: Approval): Promise<Approved> => {
    const { answer, ask } = await this.#place('approve', [call.slot, call.input])
    if (answer !== undefined) return accepted(answer, covers === undefined ? [] : this.#scopes)
    const remember = {
      type: 'string' as const,
      title: 'For how long?',
      description: `${this.#scopes.slice(1).join(' and ')} cover ${shortLine(covers ?? '', 400)}`,
      enum: this.#scopes,
      default: 'once',
    }
    ask({
      message: question,
      requestedSchema: {
        type: 'object',
        properties: {
          approve: { type: 'boolean', title: 'Do it?', default: false },
          ...(covers !== undefined && { remember }),
        },
        required: ['approve'],
      },
    })
    return undefined
  }

  readonly #ask: Asker = async (questions) => {
    const { answer, ask } = await this.#place('ask', questions)
    if (answer !== undefined) return answersOf(questions, answer)
    ask(formOf(questions))
    throw new Error(comesAgain)
  }

  /** What the client cannot be asked is refused by the SDK, with the error of the protocol. */
  async request(
    requests: Readonly<Record<string, ClientRequest>>,
    state?: unknown,
  ): Promise<Record<string, JsonObject>> {
    const open = Object.entries(requests).filter(([name, { method }]) => !answers(method, this.#answers[name]))
    if (open.length === 0)
      return Object.fromEntries(Object.keys(requests).map((name) => [name, this.#answers[name] as JsonObject]))
    for (const [name, { method, params = {} }] of open)
      this.#questions[name] = { method, params } as InputRequests[string]
    this.#left = state
    throw new Error(comesAgain)
  }

  /** The answer to a question of this very content, or the way to have it asked. */
  async #place(kind: string, content: unknown) {
    const key = `${kind}-${sha256(JSON.stringify(content)).slice(0, 16)}`
    const ask = (form: Parameters<Sdk['inputRequired']['elicit']>[0]) => {
      this.#questions[key] = this.#sdk.inputRequired.elicit(form)
    }
    return { answer: Object.hasOwn(this.#answers, key) ? this.#answers[key] : undefined, ask }
  }

  /** Whether the call waits for the client; else the result is final. */
  isOpen(result: Result): boolean {
    return !result.ok && Object.keys(this.#questions).length > 0
  }

  /** What to tell the client when the call waits for it. */
  async open(): Promise<InputRequiredResult> {
    const requestState =
      this.#left === undefined ? undefined : await this.#codec.mint(this.#left, this.#context as ServerContext)
    return this.#sdk.inputRequired({
      inputRequests: this.#questions,
      ...(requestState !== undefined && { requestState }),
    })
  }
}

const comesAgain = 'The client is asked; the call comes once more with the answer.'

/** Whether a value is an answer to a request of this kind at all. */
function answers(method: ClientRequest['method'], value: unknown): boolean {
  if (!isObject(value)) return false
  if (method === 'roots/list') return Array.isArray(value['roots'])
  if (method === 'sampling/createMessage') return isObject(value['content']) || Array.isArray(value['content'])
  return (
    value['action'] === 'decline' ||
    value['action'] === 'cancel' ||
    (value['action'] === 'accept' && isObject(value['content']))
  )
}

function accepted(answer: unknown, scopes: readonly string[]): Approved {
  const { action, content } = (answer ?? {}) as {
    action?: unknown
    content?: { approve?: unknown; remember?: unknown }
  }
  if (action !== 'accept' || content?.approve !== true) return false
  const { remember } = content
  return (remember === 'session' || remember === 'always') && scopes.includes(remember)
    ? { decision: 'allow', scope: remember }
    : true
}
