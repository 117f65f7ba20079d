import type { Answers, Asker, JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { Approval, ApprovalAnswer } from '../../../core/contract/index.js'
import type { Kernel } from '../../../core/index.js'
import type { Overlay, UiEvent, UiHandle } from '../../tui/index.js'
import { addAllowRule, findRules, formatQuestion } from '../../agent/cli/index.js'
import { buildCallBlocks } from './call_blocks.js'

type OverlayResult = UiEvent & { type: 'overlay_result' }

/** Asks the person questions, one overlay each. */
export class Questions {
  private readonly open = new Map<string, (result: OverlayResult) => void>()
  private count = 0

  constructor(
    private readonly handle: UiHandle,
    private readonly signal: AbortSignal,
    private readonly kernel: Kernel,
  ) {}

  /** Passes the result of an overlay to its question. */
  handleResult(result: OverlayResult): void {
    this.open.get(result.id)?.(result)
    this.open.delete(result.id)
  }

  /** Closes all questions without an answer. */
  cancelAll(): void {
    for (const [id, answer] of this.open) {
      this.handle.send({ type: 'close_overlay', id })
      answer({ type: 'overlay_result', id, value: undefined })
    }
    this.open.clear()
  }

  private openOverlay(
    make: (id: string) => Parameters<UiHandle['send']>[0],
    signal: AbortSignal,
  ): Promise<OverlayResult> {
    const id = `q${++this.count}`
    return new Promise((resolve) => {
      this.open.set(id, resolve)
      signal.addEventListener(
        'abort',
        () => {
          if (!this.open.delete(id)) return
          this.handle.send({ type: 'close_overlay', id })
          resolve({ type: 'overlay_result', id, value: undefined })
        },
        { once: true },
      )
      this.handle.send(make(id))
    })
  }

  readonly approve = async (asked: Approval): Promise<ApprovalAnswer> => {
    const { call } = asked
    this.handle.send({ type: 'notify', text: `${call.slot} waits for approval` })
    const about = await findRules(this.kernel, call)
    for (;;) {
      const { value, text = '' } = await this.openOverlay(
        (id) => ({
          type: 'overlay',
          overlay: createApprovalOverlay(
            id,
            { ...asked, call: { ...call, input: omitDefaults(this.kernel, call) } },
            about,
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

/** Returns the overlay of an approval: the exact call, the reasons, and the scope of each answer. */
function createApprovalOverlay(
  id: string,
  { call: { slot, input }, reasons, covers }: Approval,
  { asks, allows }: { asks?: string; allows?: string },
): Overlay {
  // Answers that last have no key: they take a selection and Enter.
  const lasting =
    covers === undefined
      ? []
      : [
          { value: 'session', label: 'yes, for this session' },
          { value: 'always', label: 'always' },
        ]
  const ruled = allows === undefined ? [] : [{ value: 'rule', label: 'always, with a rule' }]
  const note = (text: string) => ({ kind: 'note' as const, text })
  return {
    kind: 'confirm',
    id,
    title: formatQuestion(slot, input),
    body: [
      ...buildCallBlocks(input),
      note(reasons.join('\n')),
      ...(asks === undefined ? [] : [note(`rule that asks: ${asks}`)]),
      ...(covers === undefined ? [] : [note(`session and always cover: ${covers}`)]),
      ...(allows === undefined ? [] : [note(`the rule, which you can edit: ${allows}`)]),
    ],
    answers: [
      { key: 'y', value: 'yes', label: 'yes' },
      ...lasting,
      ...ruled,
      { key: 'n', value: 'no', label: 'no' },
      { key: 'w', value: 'why', label: 'no, do this instead' },
    ],
    texts: [
      { value: 'why', label: 'Do instead' },
      { value: 'rule', label: 'Rule', ...(allows !== undefined && { initial: allows }) },
    ],
  }
}
