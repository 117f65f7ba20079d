import { redact, redactText, visibleLine } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import {
  AgentError,
  resolveAgentSettings,
  type AgentProviders,
  type AgentSettings,
  type FactOf,
  type JournalRecord,
  type RequestDigest,
} from '../base/index.js'
import {
  computeTokenBudget,
  createCatalog,
  limitOutput,
  readInstructionText,
  renderSystemPrompt,
  PartCache,
  toCanonicalRequest,
  toShortDigest,
  type CanonicalRequest,
} from '../context/index.js'
import { createToolDefinitions, type ModelRequest } from '../model/index.js'
import { findModel, type Model } from '../providers/index.js'
import { conversationTable, loadImages, type ConversationState } from '../session/index.js'
import { compareTools, cutToDifference, type Difference } from './difference.js'
import { nameMessage, readNearest } from './messages.js'
import { readByDigest, type Recording } from './recording.js'

/** The result of a replay. */
export interface SessionReplay {
  session_id: string
  /** `unknown`: the journal does not say what was asked, for the reason given. */
  status: 'equal' | 'different' | 'unknown'
  reason?: string
  model?: string
  version?: string
  turns: number
  /** Requests that were built again and compared; all others are in `left_out`. */
  requests: number
  left_out: number
  notices: string[]
  difference?: Difference
}

/** Parts of the requests that are taken from the recording and not made again. */
export type RecordedPart = 'prompt' | 'tools'

export interface ReplayOptions {
  kernel: Kernel
  workspace: Workspace
  env: AgentProviders['env']
  /** Parts that are not compared. */
  accepted: ReadonlySet<RecordedPart>
}

interface PendingRequest {
  digest: RequestDigest
  segment: FactOf<'segment'>
  messages: ModelRequest['messages']
  turn: number
  step: number
}

/**
 * Builds every request of a recording again and compares it with its digest. Model and tools answer from the journal;
 * prompt and tool definitions are those that the program makes now. Ends at the first difference.
 */
export class Replayer {
  readonly #settings: AgentSettings
  #instructions: Promise<string> | undefined
  readonly #messages = new PartCache()
  readonly #tools = new Map<string, ModelRequest['tools']>()

  constructor(private readonly options: ReplayOptions) {
    this.#settings = resolveAgentSettings(options.kernel)
  }

  async replay(recording: Recording): Promise<SessionReplay> {
    const { session_id, records, notices, version } = recording
    const found = listRequests(records)
    const base = {
      session_id,
      ...(version !== undefined && { version }),
      ...(found.model !== undefined && { model: found.model }),
      turns: found.turns,
      requests: 0,
      left_out: found.left_out,
      notices,
    }
    if (found.pending.length === 0) return { ...base, status: 'unknown', reason: describeMissing(found, version) }
    let requests = 0
    const earlier = { digests: [] as string[], options: '' }
    const segments = new Map<FactOf<'segment'>, SegmentTexts>()
    for (const request of found.pending) {
      const { digest, segment } = request
      earlier.digests = [...earlier.digests.slice(0, digest.kept), ...digest.messages]
      earlier.options = digest.options ?? earlier.options
      const texts = segments.get(segment) ?? (await this.#readSegment(recording, segment))
      segments.set(segment, texts)
      const difference = await this.#compare(recording, request, texts, earlier)
      requests += 1
      if (difference)
        return {
          ...base,
          requests,
          status: 'different',
          difference: { turn: request.turn, step: request.step, ...difference },
        }
    }
    return { ...base, requests, status: 'equal' }
  }

  /** Reads the recorded texts of a segment and makes its present ones. */
  async #readSegment(recording: Recording, segment: FactOf<'segment'>): Promise<SegmentTexts> {
    const { kernel, env, accepted } = this.options
    const model = findModel(kernel, env, segment.model)
    const [prompt, tools] = [
      await readByDigest(recording, segment.prompt),
      await readByDigest(recording, segment.tools),
    ]
    if ('fault' in prompt) return { fault: { part: 'prompt', text: prompt.fault, digest: segment.prompt } }
    if ('fault' in tools) return { fault: { part: 'tools', text: tools.fault, digest: segment.tools } }
    const recorded = { system: prompt.text, tools: JSON.parse(tools.text) as ModelRequest['tools'] }
    return {
      model,
      recorded,
      present: {
        system: accepted.has('prompt') ? recorded.system : await this.#makePrompt(recorded.system, segment),
        tools: accepted.has('tools') || recorded.tools.length === 0 ? recorded.tools : this.#makeTools(model, segment),
      },
    }
  }

  /** Renders the prompt again. Environment and task are those of the recording: they cannot be made again. */
  async #makePrompt(recorded: string, { lengths, mode }: FactOf<'segment'>): Promise<string> {
    if (!lengths || mode === undefined) return recorded
    const { environment, instructions, task } = lengths
    const sizes = [environment, instructions, task].filter((size) => size > 0)
    const start = recorded.length - sizes.reduce((all, size) => all + size, 2 * Math.max(0, sizes.length - 1))
    const { kernel, workspace } = this.options
    this.#instructions ??= readInstructionText(kernel, workspace, this.#settings)
    const written = [await this.#instructions, task > 0 ? recorded.slice(-task) : ''].filter((text) => text !== '')
    return redactText(renderSystemPrompt(mode, recorded.slice(start, start + environment), written.join('\n\n')))
  }

  #makeTools(model: Model, { mode, only, left_out = [] }: FactOf<'segment'>): ModelRequest['tools'] {
    const key = JSON.stringify([model.id, mode, only, left_out])
    const known = this.#tools.get(key)
    if (known) return known
    const { kernel } = this.options
    const catalog = createCatalog(kernel, mode ?? kernel.inspection.resolveMode(), only)
    const tools = redact(createToolDefinitions(catalog, model)).filter(({ name }) => !left_out.includes(name))
    this.#tools.set(key, tools)
    return tools
  }

  async #compare(
    recording: Recording,
    { digest, messages }: PendingRequest,
    texts: SegmentTexts,
    recorded: { digests: readonly string[]; options: string },
  ): Promise<Omit<Difference, 'turn' | 'step'> | undefined> {
    if ('fault' in texts) {
      const { part, text, digest: wanted } = texts.fault
      return { part, where: `the stored ${part}`, recorded: `SHA-256 ${wanted}`, present: text }
    }
    const { model } = texts
    const images = digest.no_images ? undefined : await loadImages(recording, messages)
    const limits = limitOutput(model, computeTokenBudget(model, this.#settings, digest.window))
    const reasoning_effort = digest.effort ?? this.#settings.agent.reasoning_effort
    const build = (
      { system, tools }: SegmentSide,
      contained: ModelRequest['messages'],
      cache?: PartCache,
    ): CanonicalRequest =>
      toCanonicalRequest(
        model,
        {
          system,
          messages: contained,
          tools: digest.no_tools ? [] : tools,
          weight: { system: 0, tools: 0 },
          session_id: '',
          ...limits,
          ...(images && { images }),
          ...(reasoning_effort !== undefined && { reasoning_effort }),
          ...(digest.without_calls && { without_calls: digest.without_calls }),
        },
        cache,
      )
    const present = build(texts.present, messages, this.#messages)
    const buildRecorded = () => build(texts.recorded, [])
    if (toShortDigest(present.prompt) !== digest.prompt)
      return {
        part: 'prompt',
        where: 'the prompt',
        ...showSides(buildRecorded().prompt, present.prompt, digest.prompt),
      }
    if (toShortDigest(present.tools) !== digest.tools) {
      const before = buildRecorded().tools
      return {
        part: 'tools',
        ...(compareTools(before, present.tools) ?? {
          where: 'the form of the tools',
          ...showSides(before, present.tools, digest.tools),
        }),
      }
    }
    if (present.options !== recorded.options)
      return { part: 'options', where: 'the options', ...cutToDifference(recorded.options, present.options) }
    return compareMessages(recording, recorded.digests, present.messages)
  }
}

interface SegmentSide {
  system: string
  tools: ModelRequest['tools']
}
type SegmentTexts =
  | { model: Model; recorded: SegmentSide; present: SegmentSide }
  | { fault: { part: 'prompt' | 'tools'; text: string; digest: string } }

/** Shows both sides; the digest stands for a recorded text that this version forms in another way. */
const showSides = (recorded: string, present: string, digest: string): Pick<Difference, 'recorded' | 'present'> =>
  toShortDigest(recorded) === digest
    ? cutToDifference(recorded, present)
    : { recorded: `digest ${digest}`, present: present.slice(0, 200) }

async function compareMessages(
  recording: Recording,
  digests: readonly string[],
  messages: readonly string[],
): Promise<Omit<Difference, 'turn' | 'step'> | undefined> {
  const at = Array.from({ length: Math.max(digests.length, messages.length) }).findIndex(
    (_, index) => messages[index] === undefined || toShortDigest(messages[index]) !== digests[index],
  )
  if (at < 0) return undefined
  const [digest, present] = [digests[at], messages[at]]
  if (present === undefined)
    return { part: 'messages', where: `message ${at + 1}`, recorded: `digest ${digest}`, present: 'missing' }
  const where = `message ${at + 1}: ${nameMessage(present)}`
  if (digest === undefined) return { part: 'messages', where, recorded: 'missing', present: present.slice(0, 200) }
  const nearest = await readNearest(recording, present)
  return nearest === undefined
    ? { part: 'messages', where, recorded: `digest ${digest}`, present: present.slice(0, 200) }
    : { part: 'messages', where, ...nearest }
}

/** Lists the requests of a journal with the state that they were made from. */
function listRequests(records: readonly JournalRecord[]) {
  const pending: PendingRequest[] = []
  let left_out = 0
  let model: string | undefined
  let turns = 0
  conversationTable.replay(records, (state: ConversationState, record) => {
    if (record.kind === 'segment') model = record.model
    turns = Math.max(turns, record.turn)
    if (record.kind !== 'message' || record.message.role !== 'assistant') return
    if (!record.request || !state.segment) left_out += 1
    else
      pending.push({
        digest: record.request,
        segment: state.segment,
        messages: state.messages,
        turn: record.turn,
        step: state.steps + 1,
      })
  })
  return { pending, left_out, model, turns }
}

function describeMissing({ left_out }: { left_out: number }, version: string | undefined): string {
  if (left_out === 0) return 'The session has no answer of a model.'
  const by = version === undefined ? '' : ` by version ${visibleLine(version).slice(0, 40)}`
  return `Its requests were not recorded${by}.`
}

/** Converts a failure to the result of a session that cannot be replayed. Other errors are thrown. */
export function toFailedReplay(session_id: string, error: unknown): SessionReplay {
  if (!(error instanceof AgentError)) throw error
  return {
    session_id,
    status: 'unknown',
    reason: `${error.code}: ${error.message}`,
    turns: 0,
    requests: 0,
    left_out: 0,
    notices: [],
  }
}
