import { randomUUID } from 'node:crypto'
import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { isObject } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/index.js'
import type { Approval, ApprovalAnswer } from '../../../core/contract/index.js'
import { addAllowRule, findRules } from '../../agent/cli/index.js'
import { toOneLine } from '../../lib/terminal/index.js'
import { describeForEditor, toTextContent } from './editor_call.js'

export type AskPermission = (request: Omit<RequestPermissionRequest, 'sessionId'>) => Promise<unknown>

/**
 * Returns the id of the option that a client chose, `cancelled`, or `undefined` for anything else. The SDK does not
 * check answers, so only the id of an option that was offered counts.
 */
export function readChosenOption(response: unknown, offered: readonly PermissionOption[]): string | undefined {
  const { outcome } = isObject(response) ? response : {}
  if (!isObject(outcome)) return undefined
  if (outcome['outcome'] === 'cancelled') return 'cancelled'
  return outcome['outcome'] === 'selected'
    ? offered.find(({ optionId }) => optionId === outcome['optionId'])?.optionId
    : undefined
}

/** Asks the person at the editor for approvals of calls. */
export class Permissions {
  /** Calls that the person refused for the rest of the session, by slot and input. */
  readonly #refused = new Set<string>()

  constructor(
    private readonly kernel: () => Kernel,
    private readonly ask: AskPermission,
    /** Returns the id of the call that waits for the approval, after the editor knows the call. */
    private readonly findCall: () => Promise<string | undefined>,
    /** Stops the turn: an editor answers `cancelled` when its user ended the turn. */
    private readonly stopTurn: () => void,
  ) {}

  readonly approve = async (approval: Approval): Promise<ApprovalAnswer> => {
    const kernel = this.kernel()
    const { call, question, covers } = approval
    const identity = JSON.stringify([call.slot, call.input])
    if (this.#refused.has(identity))
      return { decision: 'deny', followup: 'The user refuses this call for the rest of the session.' }
    const { asks, allows } = await findRules(kernel, call)
    const shown = await describeForEditor(kernel, call)
    const options = createOptions(covers, allows)
    const response = await this.ask({
      toolCall: {
        toolCallId: (await this.findCall()) ?? `approval-${randomUUID()}`,
        ...shown,
        status: 'pending',
        content: [...shown.content, toTextContent(describeQuestion(question, { asks, allows, covers }))],
      },
      options,
    })
    switch (readChosenOption(response, options)) {
      case 'allow':
        return true
      case 'always':
        return { decision: 'allow', scope: 'always' }
      case 'rule':
        return (await addAllowRule(kernel, call, allows!)) === undefined
      case 'never':
        this.#refused.add(identity)
        return false
      case 'cancelled':
        this.stopTurn()
        return { decision: 'cancel' }
      default:
        return false
    }
  }
}

/** Creates the options. Each that lasts names what it covers or the rule that it writes. */
function createOptions(covers: string | undefined, allows: string | undefined): PermissionOption[] {
  return [
    { optionId: 'allow', name: 'Allow once', kind: 'allow_once' },
    ...(covers === undefined
      ? []
      : [{ optionId: 'always', name: `Always allow: ${toOneLine(covers)}`, kind: 'allow_always' as const }]),
    ...(allows === undefined
      ? []
      : [
          { optionId: 'rule', name: `Always allow, with the rule ${toOneLine(allows)}`, kind: 'allow_always' as const },
        ]),
    { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
    { optionId: 'never', name: 'Reject this call for the rest of the session', kind: 'reject_always' },
  ]
}

function describeQuestion(
  question: string,
  { asks, allows, covers }: { asks: string | undefined; allows: string | undefined; covers: string | undefined },
): string {
  return [
    question,
    ...(asks === undefined ? [] : [`Rule that asks: ${asks}`]),
    ...(covers === undefined ? [] : [`"Always allow" covers: ${covers}`]),
    ...(allows === undefined ? [] : [`The rule that would be written: ${allows}`]),
  ].join('\n\n')
}
