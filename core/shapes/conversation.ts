import type { Asker } from './asking.js'
import type { JsonObject, Result } from './types.js'

/**
 * One action of a conversation; takes the input of the action with its name. Contract: fails with VT_INPUT_INVALID for
 * input that the schema of the action refuses.
 */
export type ConversationAction = (input: JsonObject) => Promise<Result>

/** The list of steps of the task. */
export interface ConversationTracker {
  create: ConversationAction
  update: ConversationAction
  add: ConversationAction
  list: ConversationAction
}
/** Plans that a person accepts, changes or drops. */
export interface ConversationPlan {
  propose: ConversationAction
}
/** Tasks that begin at a later time. */
export interface ConversationSchedule {
  create: ConversationAction
  list: ConversationAction
  delete: ConversationAction
}
/** Agents that do parts of the work. */
export interface ConversationDelegation {
  spawn: ConversationAction
  send: ConversationAction
  wait: ConversationAction
  list: ConversationAction
  close: ConversationAction
}
/** The report of an agent that does a part of the work. */
export interface ConversationReport {
  finish: ConversationAction
}

/**
 * Services of the conversation that a call belongs to: plain functions over data, made for one call, equal for a plugin
 * in this process and an isolated one.
 */
export interface ConversationServices {
  readonly tracker: ConversationTracker
  readonly plan: ConversationPlan
  readonly schedule: ConversationSchedule
  readonly delegation: ConversationDelegation
  readonly report: ConversationReport
}

/**
 * Makes the services for one call of `slot`: `signal` aborts with the call, `ask` puts questions to its user. Code that
 * is `foreign` gets only the actions of its own tool.
 */
export type OpenConversation = (call: {
  slot: string
  signal: AbortSignal
  ask: Asker | undefined
  foreign: boolean
}) => ConversationServices

/** Names of the services and of their actions. */
export const CONVERSATION_ACTIONS: {
  readonly [Name in keyof ConversationServices]: readonly (keyof ConversationServices[Name] & string)[]
} = {
  tracker: ['create', 'update', 'add', 'list'],
  plan: ['propose'],
  schedule: ['create', 'list', 'delete'],
  delegation: ['spawn', 'send', 'wait', 'list', 'close'],
  report: ['finish'],
}

/** Builds a conversation from one function that takes the service, the action and the input. */
export function createConversation(
  perform: (service: string, action: string, input: JsonObject) => Promise<Result>,
): ConversationServices {
  const services = Object.entries(CONVERSATION_ACTIONS).map(([service, actions]) => [
    service,
    Object.freeze(
      Object.fromEntries(
        actions.map((action) => [action, (input: JsonObject = {}) => perform(service, action, input)]),
      ),
    ),
  ])
  return Object.freeze(Object.fromEntries(services)) as ConversationServices
}
