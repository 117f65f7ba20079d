import { fail, failure, ok, type Asker, type Mode, type Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import type { Conversation } from '../session/index.js'
import { keepPrompt } from './artifacts.js'
import { type FinishState, createTracker } from '../task/index.js'

const folder = '.vtcode/plans'
/** The limit of a plan in bytes, far above any real one. */
const largest = 1024 * 1024

interface Proposal {
  title: string
  summary: string
  steps: { action: string; files?: string[]; verify?: string | string[] }[]
  tests: string
  assumptions: string[]
  open_questions?: string[]
}

/** The possible decisions about a plan: label, description, and the mode in which the work begins. */
const decisions = {
  execute: { says: 'do it; every change is asked about', mode: 'ask' },
  auto_accept: { says: 'do it; changes in the folder are free', mode: 'auto' },
  fresh_context: { says: 'do it with the plan alone in mind; every change is asked about', mode: 'ask' },
  revise: { says: 'say what should be different', mode: undefined },
  cancel: { says: 'drop it', mode: undefined },
} satisfies Record<string, { says: string; mode: Mode | undefined }>
type Decision = keyof typeof decisions

/** The end of a turn that decided a plan: its last text, and the text that the harness continues with. */
export interface PlanEnd {
  text: string
  next?: string
}

/** Plans that the model proposes to a person, and the decisions about them. */
export class Plans {
  private end: PlanEnd | undefined

  constructor(private readonly thread: Conversation & { state: FinishState }) {}

  /** Returns the end of the current turn if a plan was decided in it, once. */
  takeEnd(): PlanEnd | undefined {
    const { end } = this
    this.end = undefined
    return end
  }

  /** Describes the accepted plan in a line for the model. */
  async describeAcceptedPlan(): Promise<string[]> {
    const { plan } = this.thread.state.artifacts
    if (plan?.path === undefined) return []
    const now = await this.thread.workspace
      .read(plan.path, { offset: 0, length: largest })
      .then(sha256, () => undefined)
    const state = now === plan.sha256 ? '' : now === undefined ? ' (not there any more)' : ' (edited since)'
    return [`Plan accepted by the user: ${plan.path}${state}`]
  }

  /** Writes a plan to a file and asks for a decision, which ends the turn. */
  async propose(given: Partial<Proposal>, ask: Asker | undefined, signal: AbortSignal): Promise<Result> {
    const { thread } = this
    if (thread.mode !== 'plan') return fail('VT_PLAN_MODE', 'Plans are proposed in mode plan.')
    const lacking = listMissing(given)
    if (lacking.length > 0) return fail('VT_PLAN_INCOMPLETE', `The plan is not complete: ${lacking.join('; ')}.`)
    const plan = given as Proposal
    try {
      // The steps have to fit into a tracker.
      createTracker(toTracker(plan))
    } catch (error) {
      const refusal = failure(error)
      if (!refusal) throw error
      return fail('VT_PLAN_INCOMPLETE', refusal.error.message.replaceAll('items[', 'steps['))
    }
    const text = redactText(formatPlan(plan))
    const path = await writePlan(thread.workspace, plan.title, text)
    const digest = await keepPrompt(thread, text)
    await thread.events.emitItem({ id: thread.newId('it'), type: 'plan', text, status: 'completed' })
    await thread.events.emit({ type: 'plan.approval.requested', plan_file: path })
    const { decision, words } = ask ? await askDecision(path, ask, signal).catch(() => NO_DECISION) : NO_DECISION
    if (signal.aborted) return fail('VT_CALL_ABORTED', `The plan stands in ${path}; nothing was decided.`)
    if (decision !== 'none') await thread.events.emit({ type: 'plan.approval.resolved', decision, automatic: false })
    return this.applyDecision(plan, { path, sha256: digest }, decision, words)
  }

  private async applyDecision(
    plan: Proposal,
    { path, sha256 }: { path: string; sha256: string },
    decision: Decision | 'none',
    words: string,
  ): Promise<Result> {
    const { thread } = this
    const mode = decision === 'none' ? undefined : decisions[decision].mode
    if (mode !== undefined) {
      await thread.commit({
        kind: 'artifact',
        name: 'plan',
        sha256,
        round: 0,
        path,
        ...(decision === 'fresh_context' && { fresh: true as const }),
      })
      await thread.commit({ kind: 'tracker', by: 'planner', tracker: createTracker(toTracker(plan)) })
      await thread.commit({ kind: 'mode', mode: thread.kernel.inspection.resolveMode(mode), by: 'plan' })
      this.end = {
        text: `The plan is accepted; it stands in ${path}.`,
        next:
          `The user accepted the plan ${path}. Its steps are in the task tracker. Carry them out, one ` +
          'after the other.',
      }
    } else if (decision === 'revise') {
      await thread.queue.add(words, { first: true })
      this.end = { text: `The plan is to be revised; it stands in ${path}.` }
    } else if (decision === 'cancel') this.end = { text: `The plan is dropped; it stands in ${path}.` }
    else
      this.end = { text: `${formatPlan(plan)}\nThe plan stands in ${path}. No person was asked; nothing is done yet.` }
    return ok({ path, decision }, { text: `${ANSWERS[decision]} It stands in ${path}.` })
  }
}

const ANSWERS: Record<Decision | 'none', string> = {
  execute: 'The user accepted the plan.',
  auto_accept: 'The user accepted the plan.',
  fresh_context: 'The user accepted the plan.',
  revise: 'The user wants another plan.',
  cancel: 'The user dropped the plan.',
  none: 'No person can decide on the plan.',
}

const NO_DECISION = { decision: 'none', words: '' } as const

/** Lists the missing parts of a plan by name. */
function listMissing({
  title = '',
  summary = '',
  steps = [],
  tests = '',
  assumptions,
  open_questions = [],
}: Partial<Proposal>): string[] {
  const empty = Object.entries({ title, summary, tests }).flatMap(([name, text]) =>
    text.trim() === '' ? [`${name} is missing`] : [],
  )
  return [
    ...empty,
    ...(steps.length === 0 ? ['steps is missing'] : []),
    ...steps.flatMap(({ action = '' }, at) => (action.trim() === '' ? [`steps[${at}] says no action`] : [])),
    ...(assumptions === undefined ? ['assumptions is missing; [] where there is none'] : []),
    ...(open_questions.length > 0 ? [`open_questions has ${open_questions.length}; answer them first`] : []),
  ]
}

const toTracker = ({ title, steps }: Proposal) => ({
  title,
  items: steps.map(({ action, ...rest }) => ({ description: action, ...rest })),
})

/** Formats the plan as Markdown. */
function formatPlan({ title, summary, steps, tests, assumptions }: Proposal): string {
  const step = ({ action, files = [], verify = [] }: Proposal['steps'][number], at: number): string[] => [
    `${at + 1}. ${action.trim()}`,
    ...(files.length > 0 ? [`   files: ${files.join(', ')}`] : []),
    ...[verify].flat().map((command) => `   verify: \`${command}\``),
  ]
  const parts = [
    `# ${title.trim()}`,
    summary.trim(),
    '## Steps',
    steps.flatMap(step).join('\n'),
    '## Tests',
    tests.trim(),
  ]
  const assumed =
    assumptions.length > 0 ? ['## Assumptions', assumptions.map((one) => `- ${one.trim()}`).join('\n')] : []
  return `${[...parts, ...assumed].join('\n\n')}\n`
}

/**
 * Writes a plan under a free name and returns its path. Throws VtError VT_PATH_OUTSIDE for a link that leads outside.
 */
async function writePlan(workspace: Workspace, title: string, text: string): Promise<string> {
  const slug =
    title
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60)
      .replace(/-+$/, '') || 'plan'
  for (let number = 1; ; number++) {
    const path = `${folder}/${slug}${number === 1 ? '' : `-${number}`}.md`
    if (workspace.resolve(path, { follow: false }) !== path) throw new Error(`A link stands in the way of ${path}.`)
    if (await workspace.stat(path)) continue
    await workspace.write(path, Buffer.from(text), 'nothing')
    return path
  }
}

/** Asks a person about a plan; an answer in own words describes what should be different. */
async function askDecision(
  path: string,
  ask: Asker,
  signal: AbortSignal,
): Promise<{ decision: Decision | 'none'; words: string }> {
  const options = Object.entries(decisions).map(([label, { says }]) => ({ label, description: says }))
  const answers = await ask(
    [{ id: 'plan', header: 'Plan', question: `What about the plan in ${path}?`, options }],
    signal,
  )
  const { selected = [], other = '' } = answers?.['plan'] ?? {}
  const chosen = selected.find((label): label is Decision => Object.hasOwn(decisions, label))
  if (chosen !== undefined && chosen !== 'revise') return { decision: chosen, words: '' }
  const words = other.trim() || (chosen === 'revise' ? await askChanges(ask, signal) : '')
  // Closing the question accepts nothing.
  return words === '' ? { decision: 'cancel', words } : { decision: 'revise', words }
}

async function askChanges(ask: Asker, signal: AbortSignal): Promise<string> {
  const answers = await ask([{ id: 'different', header: 'Plan', question: 'What should be different?' }], signal)
  return answers?.['different']?.other?.trim() ?? ''
}
