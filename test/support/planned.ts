import { call, type Answer } from './peer.js'

/** The part of an agent that asks the model server: planner, evaluator, replanner or builder. */
export type Role = 'plan' | 'evaluate' | 'replan' | 'build'
export const textOf = (body: any): string => JSON.stringify(body)
export function roleOf(body: any): Role {
  // The server keeps a very large request in another form than its body.
  const [first] = body.messages ?? []
  const system = typeof first?.content === 'string' ? first.content : (JSON.stringify(first?.content) ?? '')
  if (system.startsWith('You plan a task')) return 'plan'
  if (system.startsWith('You evaluate the work')) return 'evaluate'
  return system.startsWith('The work of a coding agent was evaluated') ? 'replan' : 'build'
}

export const json = (value: unknown): Answer => ({ content: JSON.stringify(value) })
export const plan = (more: object = {}): object => ({
  spec_markdown: 'A greeting on the screen.',
  contract_markdown: '1. made.txt holds hello; `grep hello made.txt`.',
  feature_list_markdown: '- greeting',
  task_title: 'Greet',
  items: [{ description: 'write made.txt', outcome: 'it is there', verify: 'grep hello made.txt' }],
  ...more,
})
export const scores = (a = 5, b = 5, c = 5, d = 5): object => ({
  contract_fidelity: a,
  functionality: b,
  code_quality: c,
  verification_integrity: d,
})
export const passes = (more: object = {}): object => ({
  verdict: 'pass',
  summary: 'It greets.',
  high_severity_findings: 0,
  scorecard: scores(),
  findings: [],
  unmet_contract_items: [],
  residual_risks: [],
  required_tracker_updates: [],
  generalization_notes: [],
  ...more,
})
export const fails = (more: object = {}): object =>
  passes({
    verdict: 'fail',
    summary: 'It does not greet well.',
    required_tracker_updates: ['say hello twice'],
    ...more,
  })
export const replan = (more: object = {}): object => ({
  revised_feature_list: '- greeting, twice',
  contract_addendum: '2. hello stands there twice.',
  new_tracker_items: [],
  preserved_scopes: [],
  rationale: 'It was missing.',
  ...more,
})

/** The agent's own part of a script: answers by how many of them the conversation has. */
export const building =
  (...answers: Answer[]) =>
  (body: any): Answer =>
    answers[body.messages.filter(({ role }: any) => role === 'assistant').length] ?? { content: 'Nothing more.' }
export const write = (path: string, content: string): Answer => ({
  toolCalls: [call('unified_file', { action: 'write', path, content })],
})
export const mark = (...indexes: number[]): Answer => ({
  toolCalls: indexes.map((index) => call('task_tracker', { action: 'update', index, status: 'completed' })),
})

/** An agent that writes once, and marks every step that there may be. */
export const diligent = (body: any): Answer => {
  if (body.messages.at(-1).role === 'tool') return { content: 'GENERATOR-SAYS all is well.' }
  const first = !body.messages.some(({ role }: any) => role === 'assistant')
  return {
    toolCalls: [...(first ? write('made.txt', 'hello\n').toolCalls! : []), ...mark(1, 2, 3, 4, 5, 6, 7).toolCalls!],
  }
}

type By = Answer | ((body: any) => Answer)
/** A script by who asks: lists are used up one after the other, their last answer again and again. */
export function byRole(script: { [R in Role]?: By | By[] }): ((body: any) => Answer)[] {
  const asked: Record<string, number> = {}
  const one = (body: any): Answer => {
    const role = roleOf(body)
    const given = [script[role] ?? { content: 'Nobody asked for this.' }].flat()
    const answer = given[Math.min((asked[role] = (asked[role] ?? 0) + 1) - 1, given.length - 1)]!
    return typeof answer === 'function' ? answer(body) : answer
  }
  return Array.from({ length: 80 }, () => one)
}
