import type { JsonObject } from '../../../core/shapes/index.js'
import { block, redactText, truncateLine } from '../../../core/text/index.js'
import { AgentError } from '../base/index.js'
import { askForData, computeTokenBudget } from '../context/index.js'
import type { PaidConversation } from '../ledger/index.js'
import type { ModelConnection } from '../model/index.js'
import {
  artifactFiles,
  describeEnding,
  type FinishState,
  formatItems,
  taskFolder,
  type Verified,
} from '../task/index.js'
import { criteria, evaluationPrompt, evaluationSchema, type EvaluationReply, type Finding } from './replies.js'

/** The reply of one model; `undefined` if its answer did not fit the schema. */
export interface Opinion {
  model: string
  reply: EvaluationReply | undefined
  /** The reason for a missing reply. */
  problem?: string
}
/** The joined replies of all models. */
export interface Evaluation {
  accepted: boolean
  /** At least one model named something to change. */
  revisable: boolean
  summary: string
  updates: string[]
  falsifiers: string[]
  /** The whole evaluation, for people and for the next step. */
  text: string
}
const most = { output: 8192, proofs: 16 * 1024, falsifiers: 30 }
const leastScore = 4

/** Returns whether a reply accepts the work: the verdict alone is not enough. */
export const accepts = ({
  verdict,
  findings,
  high_severity_findings,
  unmet_contract_items,
  scorecard,
}: EvaluationReply): boolean =>
  verdict === 'pass' &&
  high_severity_findings === 0 &&
  unmet_contract_items.length === 0 &&
  !findings.some(({ severity }) => severity === 'high') &&
  criteria.every((name) => scorecard[name] >= leastScore)

/** Returns the text for an evaluator: task, changes, output of commands; no text of the agent. */
export function formatMaterial(
  { tracker, verified }: FinishState,
  { spec, contract }: { spec: string; contract: string },
  last: Verified | undefined,
  diff: string,
): string {
  const ran =
    last?.ran.map((one) => `\`${one.command}\` ${describeEnding(one)}\n${one.says}`) ??
    verified?.commands.map((one) => `\`${one.command}\` ${describeEnding(one)}`) ??
    []
  const remarks =
    last?.refused.map(({ command }) => `\`${truncateLine(command, 200)}\` may not run unasked, so it did not.`) ?? []
  const parts: [string, string][] = [
    ['spec', spec],
    ['contract', contract],
    ['tracker', tracker ? [tracker.title, ...formatItems(tracker)].join('\n') : '(none)'],
    ['verification', ran.join('\n\n').slice(0, most.proofs) || '(No command ran.)'],
    ['remarks', remarks.join('\n') || '(none)'],
    ['changes', diff],
  ]
  return redactText(parts.map(([name, text]) => block(name, text)).join('\n\n'))
}

/** Asks all models at once. Throws VT_LOOP_BUDGET, VT_SESSION_WRITE, and the reason of `signal`. */
export function askEvaluators(
  thread: PaidConversation,
  connections: readonly ModelConnection[],
  task: string,
  signal: AbortSignal,
): Promise<Opinion[]> {
  const ask = async (connection: ModelConnection): Promise<Opinion> => {
    const model = connection.model.id
    try {
      const max_output_tokens = Math.min(most.output, computeTokenBudget(connection.model, thread.settings).output)
      const reply = await askForData(
        thread,
        {
          connection,
          system: evaluationPrompt,
          task,
          schema: evaluationSchema,
          max_output_tokens,
          purpose: 'evaluate',
        },
        signal,
      )
      return {
        model,
        reply: reply as (EvaluationReply & JsonObject) | undefined,
        ...(!reply && { problem: 'three answers did not fit the schema' }),
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof AgentError) || endsRun.has(error.code)) throw error
      return { model, reply: undefined, problem: `${error.code}: ${error.message}` }
    }
  }
  return Promise.all(connections.map(ask))
}
/** Codes that always end the run, whatever plan or evaluation is missing. */
export const endsRun: ReadonlySet<string> = new Set([
  'VT_LOOP_BUDGET',
  'VT_LLM_UNPRICED',
  'VT_SESSION_WRITE',
  'VT_CANCELLED',
])

/** Joins verdicts: all have to accept, the lowest scores count. */
export function joinOpinions(all: readonly Opinion[]): Evaluation {
  const replies = all.flatMap(({ reply }) => (reply ? [reply] : []))
  const missing = all
    .filter(({ reply }) => !reply)
    .map(({ model, problem }) => `evaluator unavailable: ${model}, ${truncateLine(problem ?? '', 300)}`)
  const findings = replies.flatMap((reply) => reply.findings).sort((a, b) => ranks[a.severity] - ranks[b.severity])
  const once = (texts: readonly string[]): string[] => [
    ...new Set(texts.map((text) => truncateLine(text, 300)).filter((text) => text.trim() !== '')),
  ]
  const unmet = once(replies.flatMap((reply) => reply.unmet_contract_items))
  const updates = once(replies.flatMap((reply) => reply.required_tracker_updates))
  const falsifiers = [
    ...new Set(replies.flatMap((reply) => reply.generalization_notes.map(({ falsifier }) => falsifier.trim()))),
  ].slice(0, most.falsifiers)
  const scores = criteria.map(
    (name) => `${name}: ${replies.length > 0 ? Math.min(...replies.map(({ scorecard }) => scorecard[name])) : '-'}`,
  )
  const accepted = all.length > 0 && missing.length === 0 && replies.every(accepts)
  const refused = replies.filter((reply) => !accepts(reply))
  const summary = accepted ? replies[0]!.summary : [...refused.map((reply) => reply.summary), ...missing].join(' ')
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length > 0 ? [`## ${title}`, '', ...lines.map((line) => `- ${line}`), ''] : []
  const text = [
    `# ${accepted ? 'Accepted' : 'Not accepted'}`,
    '',
    summary,
    '',
    ...section('Findings', findings.map(formatFinding)),
    ...section('Unmet points of the contract', unmet),
    ...section('To do', updates),
    ...section('Scores', scores),
    ...section('No answer', missing),
    ...section('Residual risks', once(replies.flatMap((reply) => reply.residual_risks))),
  ].join('\n')
  return {
    accepted,
    revisable: refused.length > 0,
    summary: truncateLine(summary, 300),
    updates,
    falsifiers,
    text: redactText(text),
  }
}
const ranks = { high: 0, medium: 1, low: 2 }

function formatFinding({ severity, title, detail, path, line_number }: Finding): string {
  const place =
    path === undefined ? '' : ` (${truncateLine(path, 200)}${line_number === undefined ? '' : `:${line_number}`})`
  const rest = detail === undefined ? '' : `. ${truncateLine(detail, 400)}`
  return `${severity}: ${truncateLine(title, 300)}${place}${rest}`
}

/** Characters of an evaluation that the agent reads at once. */
const MAX_EXCERPT = 1400

/** Returns the beginning of an evaluation for the agent, cut at a line. */
export function formatEvaluation(text: string): string {
  const cut = text.length > MAX_EXCERPT ? `${text.slice(0, text.lastIndexOf('\n', MAX_EXCERPT))}\n…` : text.trimEnd()
  return (
    `The work was evaluated.\n${cut}\nThe whole evaluation is in ` +
    `${taskFolder}/${artifactFiles.evaluation}. Fix what it found; the new steps are in the tracker.`
  )
}
