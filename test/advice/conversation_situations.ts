import { report, spawn, tool, type delegation } from '../support/delegation.js'
import { call, type Answer } from '../support/peer.js'

// Refused calls of tools that only a conversation has, and the calls that follow the advice.

type ToolCall = ReturnType<typeof call>
export interface ConversationSituation {
  readonly code: string
  /** Calls of the model, one a step; each succeeds. */
  readonly before?: readonly ToolCall[]
  /** Makes the calls before in one step, so that they are fast. */
  readonly isOneStep?: true
  readonly call: ToolCall
  readonly advice: RegExp
  /** Calls that follow the advice; each succeeds. */
  readonly then: readonly ToolCall[]
  /** What an agent answers whose task begins with ONE or TWO. */
  readonly parts?: Record<string, Answer[]>
  readonly where?: Parameters<typeof delegation>[2] & { isRepository?: boolean; isPlan?: boolean }
}

const track = (action: string, input: object = {}) => call('task_tracker', { action, ...input })
const cron = (action: string, input: object = {}) => call('cron', { action, ...input })
const write = (path: string, content = 'x\n') => call('unified_file', { action: 'write', path, content })
const overwrite = (path: string, content: string) =>
  call('unified_exec', { action: 'run', command: `printf '%s' '${content}' > ${path}` })
const plan = {
  title: 'Add a retry',
  summary: 'The client tries again.',
  steps: [{ action: 'Add a loop' }],
  tests: 'npm test',
  assumptions: ['The server is idempotent.'],
}
const task = 'do the work that was described above.'
const chat = { options: { surface: 'chat' } }
const repository = { isRepository: true, files: { 'a.txt': 'a\n' } }
const parts = { ONE: [report('One.')], TWO: [report('Two.')] }
const full = track('create', { title: 't', items: Array.from({ length: 100 }, (_, at) => `item ${at}`) })

export const conversationSituations: readonly ConversationSituation[] = [
  {
    code: 'VT_TASK_INDEX',
    before: [track('create', { title: 't', items: ['a'] })],
    call: track('update', { index: 2, status: 'completed' }),
    advice: /number of one of these items/,
    then: [track('update', { index: 1, status: 'completed' })],
  },
  {
    code: 'VT_TASK_FULL',
    before: [full],
    call: track('add', { item: 'one more' }),
    advice: /Begin another one with fewer, larger items/,
    then: [track('create', { title: 't', items: ['all of it'] })],
  },
  {
    code: 'VT_SCHED_BAD_EXPRESSION',
    call: cron('create', { prompt: 'look', every: '1h', expression: '* * * * *' }),
    advice: /one of expression, every, run_at/,
    then: [
      cron('create', { prompt: 'look', every: '1h' }),
      cron('create', { prompt: 'look', expression: '*/5 * * * *' }),
    ],
    where: chat,
  },
  {
    code: 'VT_SCHED_NOT_FOUND',
    before: [cron('create', { prompt: 'look', every: '1h' })],
    call: cron('delete', { id: '7' }),
    advice: /Use one of these ids: 1/,
    then: [cron('delete', { id: '1' })],
    where: chat,
  },
  {
    code: 'VT_SCHED_FULL',
    before: Array.from({ length: 50 }, (_, at) => cron('create', { prompt: `look ${at}`, every: '1h' })),
    isOneStep: true,
    call: cron('create', { prompt: 'one more', every: '1h' }),
    advice: /Delete one with cron delete, or \/loop cancel <id>/,
    then: [cron('delete', { id: '1' }), cron('create', { prompt: 'one more', every: '1h' })],
    where: chat,
  },
  {
    code: 'VT_LLM_BAD_JSON',
    call: call('unified_file', '{"action":"write","path":"a.txt","content":"x"} and more'),
    advice: /whole arguments|again/,
    then: [write('a.txt')],
  },
  {
    code: 'VT_PLAN_MODE',
    call: call('propose_plan', plan),
    advice: /Do the work/,
    then: [write('done.txt')],
  },
  {
    code: 'VT_PLAN_INCOMPLETE',
    call: call('propose_plan', { ...plan, tests: '' }),
    advice: /propose the whole plan/,
    then: [call('propose_plan', plan)],
    where: { isPlan: true },
  },
  {
    code: 'VT_ASK_UNAVAILABLE',
    call: call('request_user_input', {
      questions: [
        {
          id: 'which',
          header: 'Which',
          question: 'Which one?',
          options: [
            { label: 'One', description: 'a' },
            { label: 'Two', description: 'b' },
          ],
        },
      ],
    }),
    advice: /take the safer choice/,
    then: [write('safe.txt')],
  },
  {
    code: 'VT_AGENT_UNKNOWN',
    before: [spawn(`ONE ${task}`, { agent: 'explorer' })],
    call: tool('close', { id: 'a2' }),
    advice: /Use one of these ids/,
    then: [tool('close', { id: 'a1' })],
    parts,
  },
  {
    code: 'VT_AGENT_NEEDS_WORKTREE',
    call: spawn(`ONE ${task}`),
    advice: /write_paths: .*isolation: "worktree"; or start an agent that reads, such as explorer/,
    then: [
      spawn(`ONE ${task}`, { write_paths: ['src/**'] }),
      spawn(`TWO ${task}`, { isolation: 'worktree' }),
      spawn(`THREE ${task}`, { agent: 'explorer' }),
    ],
    parts: { ...parts, THREE: [report('Three.')] },
    where: repository,
  },
  {
    code: 'VT_AGENT_PATH_CLAIMED',
    before: [spawn(`ONE ${task}`, { write_paths: ['src/**'], background: true })],
    call: spawn(`TWO ${task}`, { write_paths: ['src/a.ts'] }),
    advice: /close it, or use other paths/,
    then: [spawn(`TWO ${task}`, { write_paths: ['docs/**'] }), tool('close', { id: 'a1' })],
    parts,
  },
  {
    code: 'VT_AGENT_NO_WORKTREE',
    before: [spawn(`ONE ${task}`, { agent: 'explorer' })],
    call: tool('close', { id: 'a1', merge: true }),
    advice: /Close it without merge/,
    then: [tool('close', { id: 'a1' })],
    parts,
  },
  {
    code: 'VT_AGENT_MERGE_CONFLICT',
    before: [spawn(`ONE ${task}`, { isolation: 'worktree' }), overwrite('a.txt', 'here\n')],
    call: tool('close', { id: 'a1', merge: true }),
    advice: /Merge the other files with merge: \["glob"\], or make these changes yourself/,
    then: [tool('close', { id: 'a1', merge: ['b.txt'] }), overwrite('a.txt', 'both\n')],
    parts: { ONE: [{ toolCalls: [overwrite('a.txt', 'there\n'), write('b.txt')] }, report('One.')] },
    where: repository,
  },
  {
    code: 'VT_AGENT_DEPTH',
    call: spawn(`ONE ${task}`, { agent: 'explorer' }),
    advice: /Do the work yourself/,
    then: [write('done.txt')],
    where: { subagents: { enabled: false } },
  },
  {
    code: 'VT_AGENT_LIMIT',
    before: [spawn(`ONE ${task}`, { agent: 'explorer' })],
    call: spawn(`TWO ${task}`, { agent: 'explorer' }),
    advice: /Do the rest yourself/,
    then: [write('done.txt')],
    parts,
    where: { subagents: { max_total_per_run: 1 } },
  },
]
