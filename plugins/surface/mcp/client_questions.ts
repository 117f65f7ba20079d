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
import { truncateLine } from '../../../core/text/index.js'
import type {
  Approval,
  ApprovalAnswer,
  Asker,
  CallOptions,
  Client,
  ClientRequest,
  JsonObject,
  Result,
} from '../../../core/index.js'
import { parseAnswers, toElicitationForm } from '../../lib/terminal/index.js'
import type { Sdk } from './sdk.js'

/** The parts of an MCP request that a call needs. */
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
 * Sends questions of a call to its client: approvals and questions by elicitation, and requests of plugins.
 * A call that needs an answer ends without one. The client receives the question and repeats the call with the answer.
 * An answer to an approval or question counts only for the content that it was given for.
 */
export class ClientQuestions implements Client {
  readonly capabilities: JsonObject
  readonly state: unknown
  readonly #questions: InputRequests = {}
  readonly #sdk: Sdk
  readonly #codec: RequestStateCodec
  readonly #context: McpRequest
  readonly #answers: Record<string, unknown>
  /** The scopes that an approval may have. */
  readonly #scopes: string[]
  #stateToSend: unknown

  constructor(sdk: Sdk, server: Server, codec: RequestStateCodec, context: McpRequest, keepsSession: boolean) {
    const { mcpReq } = context
    // The 2026-07-28 revision sends capabilities with each request, earlier revisions once.
    const envelope = mcpReq.envelope as
      | { 'io.modelcontextprotocol/clientCapabilities'?: ClientCapabilities }
      | undefined
    this.capabilities = (envelope?.['io.modelcontextprotocol/clientCapabilities'] ??
      server.getClientCapabilities() ??
      {}) as JsonObject
    this.state = mcpReq.requestState()
    this.#sdk = sdk
    this.#scopes = keepsSession ? ['once', 'session', 'always'] : ['once', 'always']
    this.#codec = codec
    this.#context = context
    this.#answers = mcpReq.inputResponses ?? {}
  }

  /** Sets `approve` and `ask` of a call if the client can show forms. */
  attachTo(options: Pick<CallOptions, 'approve' | 'ask'>): void {
    if (!this.#canShowForms) return
    options.approve = this.#approve
    options.ask = this.#ask
  }

  get #canShowForms(): boolean {
    // A client that lists no elicitation mode supports forms.
    const { form, url } = (this.capabilities as ClientCapabilities).elicitation ?? { url: {} }
    return form !== undefined || url === undefined
  }

  readonly #approve = async ({ call, question, covers }: Approval): Promise<ApprovalAnswer> => {
    const { answer, ask } = await this.#findAnswer('approve', [call.slot, call.input])
    if (answer !== undefined) return parseApproval(answer, covers === undefined ? [] : this.#scopes)
    const remember = {
      type: 'string' as const,
      title: 'For how long?',
      description: `${this.#scopes.slice(1).join(' and ')} cover ${truncateLine(covers ?? '', 400)}`,
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
    const { answer, ask } = await this.#findAnswer('ask', questions)
    if (answer !== undefined) return parseAnswers(questions, answer)
    ask(toElicitationForm(questions))
    throw new Error(RETRY_MESSAGE)
  }

  /** Sends requests of a plugin. The SDK refuses a request that the client does not support, with a protocol error. */
  async request(
    requests: Readonly<Record<string, ClientRequest>>,
    state?: unknown,
  ): Promise<Record<string, JsonObject>> {
    const findAnswer = (name: string): unknown => this.#answers[toPluginKey(name)]
    const open = Object.entries(requests).filter(([name, { method }]) => !isAnswer(method, findAnswer(name)))
    if (open.length === 0)
      return Object.fromEntries(Object.keys(requests).map((name) => [name, findAnswer(name) as JsonObject]))
    for (const [name, { method, params = {} }] of open)
      this.#questions[toPluginKey(name)] = { method, params } as InputRequests[string]
    this.#stateToSend = state
    throw new Error(RETRY_MESSAGE)
  }

  /** Returns the answer to a question with exactly this content, and a function that sends the question. */
  async #findAnswer(kind: string, content: unknown) {
    const key = `${kind}-${sha256(JSON.stringify(content)).slice(0, 16)}`
    const ask = (form: Parameters<Sdk['inputRequired']['elicit']>[0]) => {
      this.#questions[key] = this.#sdk.inputRequired.elicit(form)
    }
    return { answer: Object.hasOwn(this.#answers, key) ? this.#answers[key] : undefined, ask }
  }

  /** Returns whether the call waits for the client; otherwise the result is final. */
  isWaiting(result: Result): boolean {
    return !result.ok && Object.keys(this.#questions).length > 0
  }

  /** Returns the answer that asks the client for input. */
  async createInputRequest(): Promise<InputRequiredResult> {
    const requestState =
      this.#stateToSend === undefined
        ? undefined
        : await this.#codec.mint(this.#stateToSend, this.#context as ServerContext)
    return this.#sdk.inputRequired({
      inputRequests: this.#questions,
      ...(requestState !== undefined && { requestState }),
    })
  }
}

/** Keeps names that a plugin chose apart from those of approvals and questions. */
const toPluginKey = (name: string): string => (/^(?:approve|ask|plugin)-/.test(name) ? `plugin-${name}` : name)

const RETRY_MESSAGE = 'The client must answer first; it repeats the call with the answer.'

/** Returns whether a value has the shape of an answer to this method. */
function isAnswer(method: ClientRequest['method'], value: unknown): boolean {
  if (!isObject(value)) return false
  if (method === 'roots/list') return Array.isArray(value['roots'])
  if (method === 'sampling/createMessage') return isObject(value['content']) || Array.isArray(value['content'])
  return (
    value['action'] === 'decline' ||
    value['action'] === 'cancel' ||
    (value['action'] === 'accept' && isObject(value['content']))
  )
}

function parseApproval(answer: unknown, scopes: readonly string[]): ApprovalAnswer {
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
