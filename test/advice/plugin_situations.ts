import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Booted } from 'vtcode/test'
import type { Call, Situation, Step } from './situations.js'

// Situations that need settings, a plugin or a program of their own.

const grep = (input: object): Call => [
  'unified_search',
  { action: 'grep', pattern: 'line', path: 'long.txt', ...input },
]
const read = (path: string): Call => ['unified_file', { action: 'read', path }]
const run = (command: string, input: object = {}): Call => ['unified_exec', { action: 'run', command, ...input }]
/** Makes a call that is refused, once or several times. */
const fail =
  ([tool, input]: Call, times = 1): Step =>
  async (booted) => {
    for (let round = 0; round < times; round++) await booted.call(tool, input)
  }

const spools = '.vtcode/spool'
const findSpool = ({ root }: Booted): string => {
  const name = readdirSync(join(root, spools), { recursive: true, encoding: 'utf8' }).find((one) => /\.\w+$/.test(one))
  return `${spools}/${name}`
}
const policy = { version: 1, constraints: { grep_search: { max_results_per_call: 2 } } }
/** The answer of a hook that replaces the file to read. */
const REDIRECT = JSON.stringify({
  hookSpecificOutput: { hookEventName: 'PreToolUse', updatedInput: { path: 'README.md' } },
})
const tools = { manifests: [fileURLToPath(new URL('../fixtures/advice', import.meta.url))] }

export const pluginSituations: readonly Situation[] = [
  {
    code: 'VT_POLICY_CAPPED',
    boot: { files: { '.vtcode/tool-policy.json': JSON.stringify(policy) } },
    call: grep({ max_results: 100 }),
    then: [grep({ max_results: 2, skip: 2 })],
  },
  {
    code: 'VT_GUARD_DUPLICATE',
    boot: { config: { tools: { max_repeated_tool_calls: 2 } } },
    before: [fail(read('missing.txt'), 3)],
    call: read('missing.txt'),
    advice: /Change the input, or make another call first/,
    then: [read('README.md')],
  },
  {
    code: 'VT_POLICY_REPEATED',
    boot: { mode: 'plan' },
    before: [fail(['unified_file', { action: 'write', path: 'new.txt', content: 'x' }])],
    call: ['unified_file', { action: 'write', path: 'new.txt', content: 'x' }],
    advice: /Nothing was done/,
    then: [read('README.md')],
  },
  {
    code: 'VT_POLICY_RATE',
    boot: { config: { policy: { constraints: { 'unified_file/read': { max_calls_per_minute: 1 } } } } },
    before: [read('README.md')],
    call: read('long.txt'),
    advice: /Wait \d+ s, or do something else meanwhile/,
    then: [grep({})],
  },
  {
    code: 'VT_CALL_REISSUED',
    boot: { config: { hooks: { PreToolUse: [{ matcher: 'Read', hooks: [{ command: `echo '${REDIRECT}'` }] }] } } },
    call: read('long.txt'),
    then: [grep({})],
  },
  {
    code: 'VT_EXEC_RUNTIME',
    boot: { env: { PATH: '/nonexistent' } },
    call: ['unified_exec', { action: 'code', language: 'python3', code: 'result = 1' }],
    advice: /Write the snippet in javascript instead/,
    then: [['unified_exec', { action: 'code', language: 'javascript', code: 'result = 1' }]],
  },
  {
    code: 'VT_EXEC_SPOOL',
    before: [run('seq 1 30000', { max_output_tokens: 10 })],
    call: (booted) => {
      const spool_path = findSpool(booted)
      rmSync(join(booted.root, spool_path))
      return ['unified_exec', { action: 'inspect', spool_path }]
    },
    advice: /Run the command again/,
    then: [run('seq 1 30000', { max_output_tokens: 10 })],
  },
  {
    code: 'VT_COMMAND_ARGUMENT',
    boot: tools,
    call: ['advice_word_count', { path: '-L' }],
    advice: /Give another value/,
    then: [['advice_word_count', { path: 'README.md' }]],
  },
  {
    code: 'VT_COMMAND_EXIT',
    boot: tools,
    call: ['advice_word_count', { path: 'missing.txt' }],
    advice: /details\.stderr_tail/,
    then: [['advice_word_count', { path: 'README.md' }]],
  },
]
