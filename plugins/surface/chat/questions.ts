import type { Answers, Asker, JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { Approval, ApprovalAnswer } from '../../../core/contract/index.js'
import type { Kernel } from '../../../core/index.js'
import type { Overlay, UiEvent, UiHandle } from '../../tui/index.js'
import { addAllowRule, findRules } from '../../agent/cli/index.js'
import { describeIntent, type Intent } from '../../lib/intents/index.js'
import { buildCallBlocks } from './call_blocks.js'

type OverlayResult = UiEvent & { type: 'overlay_result' }

/** Asks the person questions, one overlay each. */
export class Questions {
  /** Called when the first question opens and the last one closes. */
  onWaiting: (waiting: boolean) => void = () => {}
  private readonly open = new Map<string, (result: OverlayResult) => void>()
  private count = 0

  constructor(
    private readonly handle: UiHandle,
    private readonly signal: AbortSignal,
    private readonly kernel: Kernel,
  ) {}

  /** Passes the result of an overlay to its question. */
  handleResult(result: OverlayResult): void {
    const answer = this.open.get(result.id)
    this.open.delete(result.id)
    answer?.(result)
  }

  /** Closes all questions without an answer. */
  cancelAll(): void {
    for (const [id, answer] of [...this.open]) {
      this.open.delete(id)
      this.handle.send({ type: 'close_overlay', id })
      answer({ type: 'overlay_result', id, value: undefined })
    }
  }

  private openOverlay(
    make: (id: string) => Parameters<UiHandle['send']>[0],
    signal: AbortSignal,
  ): Promise<OverlayResult> {
    const id = `q${++this.count}`
    return new Promise((resolve) => {
      this.open.set(id, (result) => (this.onWaiting(this.open.size > 0), resolve(result)))
      this.onWaiting(true)
      signal.addEventListener(
        'abort',
        () => {
          if (!this.open.delete(id)) return
          this.handle.send({ type: 'close_overlay', id })
          this.onWaiting(this.open.size > 0)
          resolve({ type: 'overlay_result', id, value: undefined })
        },
        { once: true },
      )
      this.handle.send(make(id))
    })
  }

  readonly approve = async (asked: Approval): Promise<ApprovalAnswer> => {
    const { call } = asked
    const [about, intent] = await Promise.all([findRules(this.kernel, call), describeIntent(this.kernel, call)])
    this.handle.send({ type: 'notify', text: `Waiting for you: ${intent.title}` })
    for (;;) {
      const { value, text = '' } = await this.openOverlay(
        (id) => ({
          type: 'overlay',
          overlay: createApprovalOverlay(
            id,
            { ...asked, call: { ...call, input: omitDefaults(this.kernel, call) } },
            about,
            intent,
          ),
        }),
        this.signal,
      )
      if (value === 'yes') return true
      if (value === 'session' || value === 'always') return { decision: 'allow', scope: value }
      if (value !== 'rule') return value === 'why' && text.trim() !== '' ? { decision: 'deny', followup: text } : false
      const wrong = await addAllowRule(this.kernel, call, text)
      this.handle.send({
        type: 'commit',
        block: {
          kind: wrong === undefined ? 'note' : 'error',
          text: wrong ?? `Allowed in this workspace from now on: ${text.trim()}`,
        },
      })
      if (wrong === undefined) return true
    }
  }

  /** Lets the person pick a value; `undefined` if they leave. */
  async pick(
    title: string,
    choices: readonly { value: string; label: string; description?: string }[],
    selected?: string,
    signal = this.signal,
  ): Promise<string | undefined> {
    return (
      await this.openOverlay(
        (id) => ({
          type: 'overlay',
          overlay: { kind: 'select', id, title, choices, ...(selected !== undefined && { selected }) },
        }),
        signal,
      )
    ).value
  }

  readonly ask: Asker = async (questions, signal) => {
    const answers: Answers = {}
    for (const { id, header, question, options, focus_area, analysis_hints = [] } of questions) {
      this.handle.send({ type: 'notify', text: question })
      const notes = [focus_area, ...analysis_hints].filter((one) => one !== undefined).join(' · ')
      const overlay = {
        kind: 'confirm' as const,
        title: header,
        body: [
          { kind: 'text' as const, text: question },
          ...(notes === '' ? [] : [{ kind: 'note' as const, text: notes }]),
        ],
        answers: [
          ...(options ?? []).map(({ label, description }) => ({ value: label, label, description })),
          { value: OTHER, label: options ? 'Something else' : 'Answer', description: 'type your answer' },
        ],
        texts: [{ value: OTHER, label: 'Your answer' }],
      }
      const { value, text } = await this.openOverlay(
        (own) => ({ type: 'overlay', overlay: { ...overlay, id: own } }),
        signal,
      )
      if (value === undefined) return undefined
      this.handle.send({
        type: 'commit',
        block: { kind: 'note', text: `  ${truncateLine(question, 60)} ${text ?? value}` },
      })
      answers[id] = value === OTHER ? { selected: [], ...(text && { other: text }) } : { selected: [value] }
    }
    return answers
  }
}
// Labels are never empty.
const OTHER = ''

/** Omits inputs that equal their defaults. Keeps all inputs of plugin tools, so that their defaults hide nothing. */
function omitDefaults(kernel: Kernel, { slot, input }: Approval['call']): JsonObject {
  const info = kernel.list().find((one) => one.slot === slot)
  const own = new Set(kernel.inspection.contributions().flatMap(({ id, layer }) => (layer === 'builtin' ? [id] : [])))
  if (!info?.chain.every((id) => own.has(id))) return input
  const properties = (info.input as { properties?: Record<string, { default?: unknown }> }).properties ?? {}
  return Object.fromEntries(
    Object.entries(input).filter(
      ([key, value]) => properties[key]?.default === undefined || properties[key].default !== value,
    ),
  )
}

/** Longest text of an approval that an answer names; a longer one has a row of its own. */
const MAX_COVERS = 60

/** Returns the overlay of an approval: what the call would do, the reasons, and the scope of each answer. */
function createApprovalOverlay(
  id: string,
  { call: { input }, reasons, covers }: Approval,
  { asks, allows }: { asks?: string; allows?: string },
  intent: Intent,
): Overlay {
  const isNamed = covers !== undefined && covers.length <= MAX_COVERS
  // Answers that last have no key: they take a selection and Enter.
  const session = { value: 'session', label: isNamed ? `yes, this session: ${covers}` : 'yes, for this session' }
  const ruled = { value: 'rule', label: 'always, with a rule' }
  const lasting = [
    ...(covers === undefined ? [] : [session]),
    ...(allows === undefined ? [] : [ruled]),
    ...(covers !== undefined && allows === undefined ? [{ value: 'always', label: 'always' }] : []),
  ]
  const note = (text: string) => ({ kind: 'note' as const, text })
  return {
    kind: 'confirm',
    id,
    title: intent.title,
    body: [
      ...buildCallBlocks(intent, input as JsonObject),
      note(reasons.join('\n')),
      ...(asks === undefined ? [] : [note(`rule that asks: ${asks}`)]),
      ...(covers === undefined || (isNamed && allows !== undefined)
        ? []
        : [note(`${allows === undefined ? 'session and always cover' : 'the session covers'}: ${covers}`)]),
      ...(allows === undefined ? [] : [note(`the rule, which you can edit: ${allows}`)]),
    ],
    answers: [
      { key: 'y', value: 'yes', label: 'yes' },
      ...lasting,
      { key: 'n', value: 'no', label: 'no' },
      { key: 'w', value: 'why', label: 'no, do this instead' },
    ],
    texts: [
      { value: 'why', label: 'Do instead' },
      { value: 'rule', label: 'Rule', ...(allows !== undefined && { initial: allows }) },
    ],
  }
}
