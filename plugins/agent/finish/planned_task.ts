import { omitUndefined, type JsonObject } from '../../../core/shapes/index.js'
import { block, redactText, visibleLine } from '../../../core/text/index.js'
import { AgentError, toModelText } from '../base/index.js'
import { askForData, describeEnvironment, readInstructionText, computeTokenBudget } from '../context/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { connect, estimateTokens, type ModelConnection } from '../model/index.js'
import { messageText } from '../session/index.js'
import { makeOwnCall } from '../loop/index.js'
import { Artifacts } from './artifacts.js'
import {
  askEvaluators,
  endsRun,
  formatEvaluation,
  formatMaterial,
  joinOpinions,
  type Evaluation,
} from './evaluation.js'
import { handOff, type StuckState } from './handoff.js'
import { planPrompt, planSchema, replanPrompt, replanSchema, type PlanReply, type ReplanReply } from './replies.js'
import { reviseTracker, toTracker } from './revision.js'
import { artifactFiles, taskFolder, formatItems, type Verified } from '../task/index.js'
import { diffWork } from './work_diff.js'

/** A conversation whose task may be planned. */
export interface PlannedConversation extends PaidConversation {
  readonly state: PaidConversation['state'] & StuckState
}
/** The next step after an evaluation. */
export type Evaluated =
  | { kind: 'continue'; text: string; why: string }
  | { kind: 'end'; outcome: 'success' }
  | { kind: 'end'; outcome: 'failed'; failure: AgentError; handoff?: string }

const most = { output: 16_384, outlines: 16 * 1024 }
/** Share of the building model's window: spec and contract are in each of its requests. */
const mostOfWindow = 0.25
const outliner = 'unified_search/outline'

/**
 * A task that one request plans, the agent builds and another request evaluates. Replies are recorded as artifacts and
 * phases, so that a resumed run never asks twice.
 */
export class PlannedTask {
  private readonly artifacts: Artifacts

  constructor(private readonly thread: PlannedConversation) {
    this.artifacts = new Artifacts(thread)
  }

  /** Returns the part of the system prompt about the task while it is built. */
  async describeTask(): Promise<string> {
    if (this.thread.state.phase?.phase !== 'build') return ''
    const [spec, contract] = [await this.artifacts.text('spec'), await this.artifacts.text('contract')]
    return [
      'The task is held to this spec and this contract; the work is evaluated by them when it is done. ' +
        'They change no other instruction here.',
      ...(spec === undefined ? [] : [block('spec', spec)]),
      ...(contract === undefined ? [] : [block('contract', contract)]),
    ].join('\n\n')
  }

  /** Plans the task of a new turn once. Throws VT_LLM_*, VT_LOOP_BUDGET. */
  async plan(signal: AbortSignal): Promise<void> {
    const { thread } = this
    const { state } = thread
    if (state.phase && state.phase.phase !== 'plan') return
    const planner = await this.connectPlanner()
    // An unknown evaluator model fails here, before hours of work.
    await this.connectEvaluators()
    const round = state.phase?.round ?? Math.max(-1, ...Object.values(state.artifacts).map((one) => one.round)) + 1
    await thread.commit({ kind: 'phase', phase: 'plan', round })
    await thread.harness('planning_started', { message: planner.model.id })
    const paid = this.trackCost()
    const { plan, problem } = await this.askPlan(planner, signal)
    if (!plan) {
      await thread.commit({ kind: 'phase', phase: 'done', round, ...paid() })
      await thread.remark('VT_TASK_NOT_PLANNED', `There is no plan, so the task is worked on without one: ${problem}`)
      return thread.harness('planning_completed', { message: 'fallback' })
    }
    for (const [name, text] of [
      ['spec', plan.spec_markdown],
      ['contract', plan.contract_markdown],
      ['feature_list', plan.feature_list_markdown],
    ] as const)
      await this.artifacts.keep(name, text, round)
    await thread.commit({ kind: 'tracker', by: 'planner', tracker: toTracker(plan) })
    await thread.commit({ kind: 'phase', phase: 'build', round, ...paid() })
    await this.artifacts.keepRound(round, 'plan.json', plan)
    await this.artifacts.show()
    await thread.harness('planning_completed', { message: visibleLine(plan.task_title) })
  }

  private async askPlan(
    connection: ModelConnection,
    signal: AbortSignal,
  ): Promise<{ plan?: PlanReply; problem?: string }> {
    const { thread } = this
    try {
      const task = await this.collectPlanningText(signal)
      const plan = (await askForData(
        thread,
        {
          ...this.createRequest(connection),
          system: planPrompt,
          task,
          schema: planSchema,
          validate: (value) => this.checkPlan(value as never),
        },
        signal,
      )) as (PlanReply & JsonObject) | undefined
      return plan ? { plan } : { problem: `three answers of ${connection.model.id} did not fit the schema.` }
    } catch (error) {
      if (signal.aborted || !(error instanceof AgentError) || endsRun.has(error.code)) throw error
      return { problem: `${error.code}: ${error.message}` }
    }
  }

  private checkPlan(plan: PlanReply): void {
    toTracker(plan)
    const { window } = computeTokenBudget(this.thread.connection.model, this.thread.settings)
    const tokens = estimateTokens(plan.spec_markdown + plan.contract_markdown)
    if (tokens > window * mostOfWindow)
      throw new Error(
        `spec_markdown and contract_markdown have about ${tokens} tokens, at most ` +
          `${Math.floor(window * mostOfWindow)} fit.`,
      )
  }

  /** Collects what a planner reads. */
  private async collectPlanningText(signal: AbortSignal): Promise<string> {
    const { kernel, workspace, settings, providers, state } = this.thread
    const written = await readInstructionText(kernel, workspace, settings)
    const { result } = await makeOwnCall(this.thread, outliner, { path: '.', view: 'digest', max_results: 40 }, signal)
    const outlines = result.ok ? toModelText(result).text : ''
    const parts = [
      await describeEnvironment(workspace, providers.clock),
      written,
      outlines === '' ? '' : block('outlines', outlines.slice(0, most.outlines)),
      block('task', messageText(state.open!.input)),
    ]
    return parts.filter((part) => part !== '').join('\n\n')
  }

  /** Takes over the edits of a person to spec or contract since the last turn. */
  async readBack(): Promise<void> {
    const { phase } = this.thread.state
    if (phase?.phase === 'build') await this.artifacts.readBack(phase.round)
  }

  /** Evaluates the finished work. */
  async evaluate(last: Verified | undefined, signal: AbortSignal): Promise<Evaluated> {
    const { thread } = this
    const { state } = thread
    const { round } = state.phase!
    const evaluators = await this.connectEvaluators()
    const { window } = computeTokenBudget(evaluators[0]!.model, thread.settings)
    const { diff, counts } = await diffWork(thread, window)
    const agreed = {
      spec: (await this.artifacts.text('spec')) ?? '',
      contract: (await this.artifacts.text('contract')) ?? '',
    }
    const models = evaluators.map(({ model }) => model.id)
    await thread.harness('evaluation_started', { message: models.join(', '), attempt: round, data: { models } })
    const paid = this.trackCost()
    const all = await askEvaluators(thread, evaluators, formatMaterial(state, agreed, last, diff), signal)
    const evaluation = joinOpinions(all)
    await this.artifacts.keep('evaluation', evaluation.text, round)
    await this.artifacts.keepRound(round, 'evaluation.json', all)
    await this.artifacts.keepRound(round, 'changes.txt', counts.join('\n'))
    await this.artifacts.show()
    const { accepted, revisable, summary } = evaluation
    await thread.harness(accepted ? 'evaluation_passed' : 'evaluation_failed', { message: summary, attempt: round })
    if (accepted) {
      await thread.commit({ kind: 'phase', phase: 'done', round, ...paid() })
      return { kind: 'end', outcome: 'success' }
    }
    const { max_revision_rounds: rounds } = thread.settings.harness
    // Without a reply that names a fault, there is nothing to revise.
    if (revisable && state.revisions < rounds) return this.revise(evaluation, agreed, paid, signal)
    const tried =
      state.revisions > 0 ? ` after ${state.revisions} ${state.revisions === 1 ? 'revision' : 'revisions'}` : ''
    const failure = new AgentError('VT_TASK_NOT_ACCEPTED', `The work was not accepted${tried}: ${summary}`)
    const handoff = await handOff(thread, 'failed', {
      says: last?.ran.at(-1)?.says ?? '',
      why: `${failure.message} ${taskFolder}/${artifactFiles.evaluation} has the whole evaluation.`,
    })
    return { kind: 'end', outcome: 'failed', failure, ...omitUndefined({ handoff }) }
  }

  /** Adds missing steps to the task and points to the contract; the agent continues with them. */
  private async revise(
    evaluation: Evaluation,
    agreed: { spec: string; contract: string },
    paid: () => { cost_usd: number | null },
    signal: AbortSignal,
  ): Promise<Evaluated> {
    const { thread } = this
    const round = thread.state.phase!.round + 1
    await thread.harness('revision_started', {
      message: `${thread.state.revisions + 1} of ${thread.settings.harness.max_revision_rounds}`,
      attempt: round,
    })
    const replan = await this.replan(evaluation, agreed, signal)
    const tracker = reviseTracker(thread.state.tracker, round, evaluation, replan)
    if (replan) {
      const addendum = replan.contract_addendum.trim()
      const title = `## Addendum ${round}`
      // A process killed right after this write left the addendum in the contract.
      if (addendum !== '' && !agreed.contract.includes(title))
        await this.artifacts.keep('contract', `${agreed.contract.trimEnd()}\n\n${title}\n\n${addendum}`, round)
      if (replan.revised_feature_list.trim() !== '')
        await this.artifacts.keep('feature_list', replan.revised_feature_list, round)
      await this.artifacts.keepRound(round - 1, 'replan.json', replan)
    }
    await thread.commit({ kind: 'tracker', by: 'harness', tracker })
    await thread.commit({ kind: 'phase', phase: 'build', round, ...paid() })
    await this.artifacts.show()
    return { kind: 'continue', why: 'evaluation_failed', text: formatEvaluation(evaluation.text) }
  }

  private async replan(
    { text }: Evaluation,
    { spec, contract }: { spec: string; contract: string },
    signal: AbortSignal,
  ): Promise<ReplanReply | undefined> {
    const { tracker } = this.thread.state
    const parts: [string, string][] = [
      ['spec', spec],
      ['contract', contract],
      ['tracker', tracker ? formatItems(tracker).join('\n') : '(none)'],
      ['evaluation', text],
    ]
    const task = redactText(parts.map(([name, part]) => block(name, part)).join('\n\n'))
    try {
      const connection = await this.connectPlanner()
      const validate = (value: unknown): void => this.checkAddendum(value as ReplanReply, contract)
      return (await askForData(
        this.thread,
        { ...this.createRequest(connection), system: replanPrompt, task, schema: replanSchema, validate: validate },
        signal,
      )) as (ReplanReply & JsonObject) | undefined
    } catch (error) {
      if (signal.aborted || !(error instanceof AgentError) || endsRun.has(error.code)) throw error
      // The findings are enough to continue.
      return undefined
    }
  }
  private checkAddendum({ contract_addendum }: ReplanReply, contract: string): void {
    const { window } = computeTokenBudget(this.thread.connection.model, this.thread.settings)
    if (estimateTokens(contract + contract_addendum) > window * mostOfWindow)
      throw new Error('contract_addendum is too long: the contract has no room for it.')
  }

  /** Reports an evaluation that the agent has not read before a kill. */
  async remind(): Promise<void> {
    const { unread_evaluation, phase } = this.thread.state
    if (unread_evaluation === undefined || phase?.phase !== 'build') return
    await this.thread.inject(
      formatEvaluation((await this.thread.store.read(`prompts/${unread_evaluation}`)) ?? ''),
      'harness',
      'evaluation',
    )
  }

  private createRequest(connection: ModelConnection) {
    return {
      connection,
      max_output_tokens: Math.min(most.output, computeTokenBudget(connection.model, this.thread.settings).output),
      purpose: 'plan' as const,
    }
  }
  private async connectTo(model: string | undefined): Promise<ModelConnection> {
    const { kernel, providers, connection } = this.thread
    return model === undefined || model === connection.model.id ? connection : connect(kernel, model, providers)
  }
  private connectPlanner = (): Promise<ModelConnection> => this.connectTo(this.thread.settings.agent.planner_model)
  private async connectEvaluators(): Promise<ModelConnection[]> {
    const { agent, harness } = this.thread.settings
    const { enabled, models } = harness.skeptic_panel
    if (!enabled || models.length === 0) return [await this.connectTo(agent.evaluator_model)]
    const panel = await Promise.all(models.map((model) => this.connectTo(model)))
    // No retries: one silent model of several must not delay the others.
    return panel.map((one) => ({
      ...one,
      model: { ...one.model, entry: { ...one.model.entry, retries: { request: 1, stream: 0 } } },
    }))
  }

  /** Returns a function that computes the cost of all requests since now, for the journal. */
  private trackCost(): () => { cost_usd: number | null } {
    const { costs } = this.thread
    const before = costs.run.cost
    return () => ({ cost_usd: before === null || costs.run.cost === null ? null : costs.run.cost - before })
  }
}
