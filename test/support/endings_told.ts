import type { Face, Logged, Told } from './endings.js'

/** Expected endings: how often the model was asked and what the log holds, as `exec` has it; then the output of each surface, and its exit code. */
export interface Ending extends Partial<Record<Face, Omit<Told, 'err'> & { err?: string[] }>> {
  asked?: number
  log?: Logged
}
export const told: Record<string, Ending> = {
  finished: {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: { code: 0, out: 'Done.\n', err: ['✓ unified_file write b.txt  N s', 'success: N requests, 1 file changed'] },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: { code: 0, out: 'Done.\n', err: ['✓ unified_file write b.txt  N s'] },
  },
  'nothing to do': {
    asked: 1,
    log: { outcome: 'success', turns: ['completed'] },
    exec: { code: 0, out: 'Nothing.\n', err: ['success: N requests'] },
    ask: { code: 0, out: 'Nothing.\n', err: [] },
    chat: { code: 0, out: 'Nothing.\n', err: [] },
  },
  'denied write, then an honest answer': {
    asked: 3,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_DENIED'] },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'denied write, then done all the same': {
    asked: 3,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_DENIED'] },
    exec: {
      code: 1,
      out: 'Done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nDone.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'denied write, then a look around': {
    asked: 4,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_DENIED'] },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✓ unified_exec run ls  exit 0  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests, 1 command',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✓ unified_exec run ls  exit 0  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'denied write, then another way': {
    asked: 3,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'Done.\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✓ unified_file write b.txt  N s',
        'success: N requests, 1 file changed',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 0,
      out: 'Done.\n',
      err: ['✗ unified_file write a.txt  VT_POLICY_DENIED  N s', '✓ unified_file write b.txt  N s'],
    },
  },
  'failed edit': {
    asked: 3,
    log: { outcome: 'success', turns: ['completed'], not_applied: ['unified_file there.txt VT_EDIT_NOT_FOUND'] },
    exec: {
      code: 0,
      out: 'Not done.\nNot applied: unified_file there.txt (VT_EDIT_NOT_FOUND)\n',
      err: [
        '✗ unified_file edit there.txt  VT_EDIT_NOT_FOUND  N s',
        'Not applied: unified_file there.txt (VT_EDIT_NOT_FOUND)',
        'success: N requests',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file there.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file there.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 0,
      out: 'Done.\nNot done.\nNot applied: unified_file there.txt (VT_EDIT_NOT_FOUND)\n',
      err: [
        '✗ unified_file edit there.txt  VT_EDIT_NOT_FOUND  N s',
        'Not applied: unified_file there.txt (VT_EDIT_NOT_FOUND)',
      ],
    },
  },
  'failed edit, then a good one': {
    asked: 3,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'Done.\n',
      err: [
        '✗ unified_file edit there.txt  VT_EDIT_NOT_FOUND  N s',
        '✓ unified_file edit there.txt  N s',
        'success: N requests, 1 file changed',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file there.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file there.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 0,
      out: 'Done.\n',
      err: ['✗ unified_file edit there.txt  VT_EDIT_NOT_FOUND  N s', '✓ unified_file edit there.txt  N s'],
    },
  },
  'failing test run': {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'The tests fail.\n',
      err: ['✗ unified_exec run false  exit 1  N s', 'success: N requests, 1 command'],
    },
    ask: { code: 0, out: 'The tests fail.\n', err: [] },
    chat: { code: 0, out: 'The tests fail.\n', err: ['✗ unified_exec run false  exit 1  N s'] },
  },
  'denied read': {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'I may not read it.\n',
      err: ['✗ unified_file read .env  VT_POLICY_DENIED  N s', 'success: N requests'],
    },
    ask: { code: 0, out: 'I may not read it.\n', err: [] },
    chat: { code: 0, out: 'I may not read it.\n', err: ['✗ unified_file read .env  VT_POLICY_DENIED  N s'] },
  },
  'two denials': {
    asked: 3,
    log: {
      outcome: 'escalated',
      turns: ['completed'],
      not_applied: ['unified_file a.txt VT_POLICY_DENIED', 'unified_file b.txt VT_POLICY_DENIED'],
    },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✗ unified_file write b.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✗ unified_file write b.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'refused by a hook': {
    asked: 3,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_DENIED'] },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'refused because nobody can be asked': {
    asked: 3,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_NEEDS_APPROVAL'] },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'refused by a person': {
    asked: 2,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_NEEDS_APPROVAL'] },
    exec: {
      code: 1,
      out: 'Done.\nNot applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        "vtcode: info: vtcode: unified_file waits for an approval. Mode ask needs approval to write 'a.txt'.",
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'allowed by a person': {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'Done.\n',
      err: [
        "vtcode: info: vtcode: unified_file waits for an approval. Mode ask needs approval to write 'a.txt'.",
        '✓ unified_file write a.txt  N s',
        'success: N requests, 1 file changed',
      ],
    },
    chat: { code: 0, out: 'Done.\n', err: ['✓ unified_file write a.txt  N s'] },
  },
  'refused by a cap': {
    asked: 4,
    log: { outcome: 'escalated', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_RATE'] },
    exec: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_RATE)\n',
      err: [
        '✓ unified_file write b.txt  N s',
        '✗ unified_file write a.txt  VT_POLICY_RATE  N s',
        'Not applied: unified_file a.txt (VT_POLICY_RATE)',
        'escalated: N requests, 1 file changed',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file b.txt (VT_POLICY_DENIED)\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file b.txt (VT_POLICY_DENIED)',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\nNot done.\nNot applied: unified_file a.txt (VT_POLICY_RATE)\n',
      err: [
        '✓ unified_file write b.txt  N s',
        '✗ unified_file write a.txt  VT_POLICY_RATE  N s',
        'Not applied: unified_file a.txt (VT_POLICY_RATE)',
        'escalated: N requests',
        'A change was refused, and none was made after it.',
        '  Allow it by a rule or another mode, then `vtcode resume SES` continues.',
      ],
    },
  },
  'a model that nobody knows': {
    asked: 0,
    exec: {
      code: 3,
      out: '',
      err: [
        "vtcode: error: VT_LLM_NO_MODEL: Unknown provider 'nobody' (model 'nobody/m').",
        '  Choose one: --model peer/m. A provider alone stands for its first model: --model peer. To keep it: agent.model in ~/.vtcode/vtcode.config.yaml; providers of your own go under custom_providers there.',
      ],
    },
    ask: {
      code: 3,
      out: '',
      err: [
        "vtcode: error: VT_LLM_NO_MODEL: Unknown provider 'nobody' (model 'nobody/m').",
        '  Choose one: --model peer/m. A provider alone stands for its first model: --model peer. To keep it: agent.model in ~/.vtcode/vtcode.config.yaml; providers of your own go under custom_providers there.',
      ],
    },
    chat: {
      code: 3,
      out: '',
      err: [
        "vtcode: error: VT_LLM_NO_MODEL: Unknown provider 'nobody' (model 'nobody/m').",
        '  Choose one: --model peer/m. A provider alone stands for its first model: --model peer. To keep it: agent.model in ~/.vtcode/vtcode.config.yaml; providers of your own go under custom_providers there.',
      ],
    },
  },
  'a prompt that a hook refuses': {
    asked: 0,
    log: { outcome: 'failed', stop: 'VT_PROMPT_BLOCKED', turns: [] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_PROMPT_BLOCKED: A lifecycle hook refused the input: no secrets',
        '  Rephrase the task, or change the hook in the settings.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_PROMPT_BLOCKED: A lifecycle hook refused the input: no secrets',
        '  Rephrase the task, or change the hook in the settings.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_PROMPT_BLOCKED: A lifecycle hook refused the input: no secrets',
        '  Rephrase the task, or change the hook in the settings.',
      ],
    },
  },
  'the money is used up': {
    asked: 1,
    log: { outcome: 'budget_limit_reached', stop: 'VT_LOOP_BUDGET', turns: ['VT_LOOP_BUDGET'] },
    exec: {
      code: 1,
      out: 'The remaining work is in .vtcode/tasks/current_blocked.md.\n',
      err: [
        '✓ unified_file read there.txt  N s',
        '· blocked_handoff_written: .vtcode/tasks/current_blocked.md',
        'budget_limit_reached: N requests',
        'VT_LOOP_BUDGET: The budget of 1 USD is used up: 1.0000 USD were spent; the next request costs at least N.',
        '  Raise agent.harness.max_budget_usd to continue.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LOOP_BUDGET: The budget of 1 USD is used up: 1.0000 USD were spent; the next request costs at least N.',
        '  Raise agent.harness.max_budget_usd to continue.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        '✓ unified_file read there.txt  N s',
        'budget_limit_reached: N requests',
        'VT_LOOP_BUDGET: The budget of 1 USD is used up: 1.0000 USD were spent; the next request costs at least N.',
        '  Raise agent.harness.max_budget_usd to continue.',
      ],
    },
  },
  'a limit of steps': {
    asked: 2,
    log: { outcome: 'tool_loop_limit_reached', turns: ['completed'] },
    exec: {
      code: 1,
      out: 'Half of it.\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.\n',
      err: [
        '✓ unified_file read there.txt  N s',
        '· limit_reached: The limit tools.max_tool_loops of this turn is reached.',
        '· blocked_handoff_written: .vtcode/tasks/current_blocked.md',
        'tool_loop_limit_reached: N requests',
        'A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Half of it.\n',
      err: [
        'vtcode: error: A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Half of it.\n',
      err: [
        '✓ unified_file read there.txt  N s',
        '· limit_reached: The limit tools.max_tool_loops of this turn is reached.',
        'tool_loop_limit_reached: N requests',
        'A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
  },
  'a limit of steps behind a denied write': {
    asked: 2,
    log: {
      outcome: 'tool_loop_limit_reached',
      turns: ['completed'],
      not_applied: ['unified_file a.txt VT_POLICY_DENIED'],
    },
    exec: {
      code: 1,
      out: 'Not applied.\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '· limit_reached: The limit tools.max_tool_loops of this turn is reached.',
        '· blocked_handoff_written: .vtcode/tasks/current_blocked.md',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'tool_loop_limit_reached: N requests',
        'A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'Not applied.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'Not applied.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '· limit_reached: The limit tools.max_tool_loops of this turn is reached.',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'tool_loop_limit_reached: N requests',
        'A limit of the turn is reached: `tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`.',
        '  `vtcode resume SES` continues.',
      ],
    },
  },
  'a limit of turns': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LOOP_SESSION_TURNS', turns: ['completed'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LOOP_SESSION_TURNS: The session has as many turns as it may have, 1.',
        '  `vtcode resume SES --fork --summarize` continues in a fresh session.',
      ],
    },
    chat: {
      code: 1,
      out: 'Done.\n',
      err: [
        'failed: N requests',
        'VT_LOOP_SESSION_TURNS: The session has as many turns as it may have, 1.',
        '  `vtcode resume SES --fork --summarize` continues in a fresh session.',
      ],
    },
  },
  'calls in a circle': {
    asked: 5,
    log: { outcome: 'loop_detected', turns: ['completed'], not_applied: ['unified_file a.txt VT_POLICY_DENIED'] },
    exec: {
      code: 1,
      out: 'In circles.\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '· limit_reached: The last calls repeated in a loop and were stopped.',
        '· blocked_handoff_written: .vtcode/tasks/current_blocked.md',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'loop_detected: N requests',
        'The last calls repeated in a loop and were stopped.',
        '  Rephrase the task; `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'In circles.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'vtcode: error: The last calls repeated in a loop and were stopped.',
        '  Rephrase the task; `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'In circles.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_DENIED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '✗ unified_file write a.txt  VT_POLICY_REPEATED  N s',
        '· limit_reached: The last calls repeated in a loop and were stopped.',
        'Not applied: unified_file a.txt (VT_POLICY_DENIED)',
        'loop_detected: N requests',
        'The last calls repeated in a loop and were stopped.',
        '  Rephrase the task; `vtcode resume SES` continues.',
      ],
    },
  },
  'cut at its length': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_LENGTH', turns: ['VT_LLM_LENGTH'] },
    exec: {
      code: 1,
      out: 'It was a dark and\n',
      err: [
        'failed: N requests',
        'VT_LLM_LENGTH: The answer of peer/m reached its length limit and is incomplete.',
        '  Raise max_output_tokens of the provider, or ask for less at a time; `vtcode resume SES` continues.',
      ],
    },
    ask: {
      code: 1,
      out: 'It was a dark and\n',
      err: [
        'vtcode: error: VT_LLM_LENGTH: The answer of peer/m reached its length limit and is incomplete.',
        '  Raise max_output_tokens of the provider, or ask for less at a time; `vtcode resume SES` continues.',
      ],
    },
    chat: {
      code: 1,
      out: 'It was a dark and\n',
      err: [
        'failed: N requests',
        'VT_LLM_LENGTH: The answer of peer/m reached its length limit and is incomplete.',
        '  Raise max_output_tokens of the provider, or ask for less at a time; `vtcode resume SES` continues.',
      ],
    },
  },
  'cut by a filter': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_REFUSED', turns: ['VT_LLM_REFUSED'] },
    exec: {
      code: 1,
      out: '',
      err: ['failed: N requests', 'VT_LLM_REFUSED: The model peer/m refused to continue.', '  Rephrase the task.'],
    },
    ask: {
      code: 1,
      out: '',
      err: ['vtcode: error: VT_LLM_REFUSED: The model peer/m refused to continue.', '  Rephrase the task.'],
    },
    chat: {
      code: 1,
      out: '',
      err: ['failed: N requests', 'VT_LLM_REFUSED: The model peer/m refused to continue.', '  Rephrase the task.'],
    },
  },
  'longer than the context': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_CONTEXT', turns: ['VT_LLM_CONTEXT'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_CONTEXT: The model server answered 400: maximum context length exceeded',
        '  `vtcode resume SES --fork --summarize` continues in a fresh session.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_CONTEXT: The model server answered 400: maximum context length exceeded',
        '  `vtcode resume SES --fork --summarize` continues in a fresh session.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_CONTEXT: The model server answered 400: maximum context length exceeded',
        '  `vtcode resume SES --fork --summarize` continues in a fresh session.',
      ],
    },
  },
  'a server that says 401': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_AUTH', turns: ['VT_LLM_AUTH'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_AUTH: The model server answered 401: bad key',
        '  Check the key of the provider; `vtcode models check` tries it.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_AUTH: The model server answered 401: bad key',
        '  Check the key of the provider; `vtcode models check` tries it.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_AUTH: The model server answered 401: bad key',
        '  Check the key of the provider; `vtcode models check` tries it.',
      ],
    },
  },
  'a server that says 429': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_RATE_LIMIT', turns: ['VT_LLM_RATE_LIMIT'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_RATE_LIMIT: The model server answered 429: slow down',
        '  Try again later; the session can be resumed.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_RATE_LIMIT: The model server answered 429: slow down',
        '  Try again later; the session can be resumed.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_RATE_LIMIT: The model server answered 429: slow down',
        '  Try again later; the session can be resumed.',
      ],
    },
  },
  'a server that says 500': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_REQUEST', turns: ['VT_LLM_REQUEST'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: The model server answered 500: oops',
        '  The server failed: try again later. The session can be resumed.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_REQUEST: The model server answered 500: oops',
        '  The server failed: try again later. The session can be resumed.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: The model server answered 500: oops',
        '  The server failed: try again later. The session can be resumed.',
      ],
    },
  },
  'a dead server': {
    asked: 0,
    log: { outcome: 'failed', stop: 'VT_LLM_REQUEST', turns: ['VT_LLM_REQUEST'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: The model server cannot be reached: the connection failed. Cannot connect to API: connect ECONNREFUSED SERVER',
        '  Check base_url, model and body of the provider.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_REQUEST: The model server cannot be reached: the connection failed. Cannot connect to API: connect ECONNREFUSED SERVER',
        '  Check base_url, model and body of the provider.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: The model server cannot be reached: the connection failed. Cannot connect to API: connect ECONNREFUSED SERVER',
        '  Check base_url, model and body of the provider.',
      ],
    },
  },
  'a silent server': {
    asked: 0,
    log: { outcome: 'failed', stop: 'VT_LLM_TIMEOUT', turns: ['VT_LLM_TIMEOUT'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_TIMEOUT: The model server: no first token for N ms.',
        '  Raise the timeouts of the provider if it is slow.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_TIMEOUT: The model server: no first token for N ms.',
        '  Raise the timeouts of the provider if it is slow.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_TIMEOUT: The model server: no first token for N ms.',
        '  Raise the timeouts of the provider if it is slow.',
      ],
    },
  },
  'a server of something else': {
    asked: 0,
    log: { outcome: 'failed', stop: 'VT_LLM_REQUEST', turns: ['VT_LLM_REQUEST'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: http://SERVER answers with a page, as a web site or a proxy does.',
        '  Check base_url of the provider, and whether the network wants a sign-in.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_REQUEST: http://SERVER answers with a page, as a web site or a proxy does.',
        '  Check base_url of the provider, and whether the network wants a sign-in.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_REQUEST: http://SERVER answers with a page, as a web site or a proxy does.',
        '  Check base_url of the provider, and whether the network wants a sign-in.',
      ],
    },
  },
  'an answer that breaks off': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_LLM_CUT', turns: ['VT_LLM_CUT'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_CUT: The answer broke off: Cannot connect to API: other side closed (UND_ERR_SOCKET)',
        '  Try again; the session can be resumed.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_CUT: The answer broke off: Cannot connect to API: other side closed (UND_ERR_SOCKET)',
        '  Try again; the session can be resumed.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_CUT: The answer broke off: Cannot connect to API: other side closed (UND_ERR_SOCKET)',
        '  Try again; the session can be resumed.',
      ],
    },
  },
  'an empty answer': {
    asked: 3,
    log: { outcome: 'failed', stop: 'VT_LLM_EMPTY', turns: ['VT_LLM_EMPTY'] },
    exec: {
      code: 1,
      out: '',
      err: [
        '· model_retry: The answer is empty.',
        '· model_retry: The answer is empty.',
        'failed: N requests',
        'VT_LLM_EMPTY: The model peer/m answered with nothing.',
        '  Try another model.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: ['vtcode: error: VT_LLM_EMPTY: The model peer/m answered with nothing.', '  Try another model.'],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        '· model_retry: The answer is empty.',
        '· model_retry: The answer is empty.',
        'failed: N requests',
        'VT_LLM_EMPTY: The model peer/m answered with nothing.',
        '  Try another model.',
      ],
    },
  },
  'calls written as text': {
    asked: 3,
    log: { outcome: 'failed', stop: 'VT_LLM_PSEUDO_CALL', turns: ['VT_LLM_PSEUDO_CALL'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_PSEUDO_CALL: The model peer/m writes calls as text instead of making them.',
        '  Use a model that supports tools.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_LLM_PSEUDO_CALL: The model peer/m writes calls as text instead of making them.',
        '  Use a model that supports tools.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_LLM_PSEUDO_CALL: The model peer/m writes calls as text instead of making them.',
        '  Use a model that supports tools.',
      ],
    },
  },
  'a call that fits no schema': {
    asked: 3,
    log: { outcome: 'success', turns: ['completed'], not_applied: ['unified_file  VT_INPUT_MISSING'] },
    exec: {
      code: 0,
      out: 'Not done.\nNot applied: unified_file (VT_INPUT_MISSING)\n',
      err: [
        '✗ unified_file write  VT_INPUT_MISSING  N s',
        'Not applied: unified_file (VT_INPUT_MISSING)',
        'success: N requests',
      ],
    },
    ask: {
      code: 1,
      out: 'Not done.\nNot applied: unified_file (VT_INPUT_MISSING)\n',
      err: ['Not applied: unified_file (VT_INPUT_MISSING)'],
    },
    chat: {
      code: 0,
      out: 'Done.\nNot done.\nNot applied: unified_file (VT_INPUT_MISSING)\n',
      err: ['✗ unified_file write  VT_INPUT_MISSING  N s', 'Not applied: unified_file (VT_INPUT_MISSING)'],
    },
  },
  'a tool that nobody has': {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'There is no such tool.\n',
      err: ['✗ no_such_tool   VT_TOOL_UNKNOWN  N s', 'success: N requests'],
    },
    ask: { code: 0, out: 'There is no such tool.\n', err: [] },
    chat: { code: 0, out: 'There is no such tool.\n', err: ['✗ no_such_tool   VT_TOOL_UNKNOWN  N s'] },
  },
  'a command that does not end in its time': {
    asked: 2,
    log: { outcome: 'success', turns: ['completed'] },
    exec: {
      code: 0,
      out: 'It did not end.\n',
      err: ['✗ unified_exec run sleep 60  stopped  N s', 'success: N requests, 1 command'],
    },
    ask: { code: 0, out: 'It did not end.\n', err: [] },
    chat: { code: 0, out: 'It did not end.\n', err: ['✗ unified_exec run sleep 60  stopped  N s'] },
  },
  'stopped in its text': {
    asked: 1,
    log: { outcome: 'cancelled', stop: 'VT_CANCELLED', turns: ['VT_CANCELLED'] },
    exec: {
      code: 130,
      out: '',
      err: ['cancelled: N requests', 'VT_CANCELLED: The run was cancelled.', '  The session can be resumed.'],
    },
    ask: {
      code: 130,
      out: '',
      err: ['vtcode: error: VT_CANCELLED: The run was cancelled.', '  The session can be resumed.'],
    },
    chat: { code: 130, out: '', err: ['cancelled'] },
  },
  'stopped in a call': {
    asked: 1,
    log: { outcome: 'cancelled', stop: 'VT_CANCELLED', turns: ['VT_CANCELLED'] },
    exec: {
      code: 130,
      out: '',
      err: [
        '✗ unified_exec run touch begun; sleep 60  VT_CALL_INTERRUPTED  N s',
        'cancelled: N requests',
        'VT_CANCELLED: The run was cancelled.',
        '  The session can be resumed.',
      ],
    },
    chat: {
      code: 130,
      out: '',
      err: ['✗ unified_exec run touch begun; sleep 60  VT_CALL_INTERRUPTED  N s', 'cancelled'],
    },
  },
  'stopped while somebody is asked': {
    asked: 1,
    log: {
      outcome: 'cancelled',
      stop: 'VT_CANCELLED',
      turns: ['VT_CANCELLED'],
      not_applied: ['unified_file a.txt VT_POLICY_NEEDS_APPROVAL'],
    },
    exec: {
      code: 130,
      out: 'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        "vtcode: info: vtcode: unified_file waits for an approval. Mode ask needs approval to write 'a.txt'.",
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'cancelled: N requests',
        'VT_CANCELLED: The run was cancelled.',
        '  The session can be resumed.',
      ],
    },
    chat: {
      code: 130,
      out: 'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)\n',
      err: [
        '✗ unified_file write a.txt  VT_POLICY_NEEDS_APPROVAL  N s',
        'Not applied: unified_file a.txt (VT_POLICY_NEEDS_APPROVAL)',
        'cancelled',
      ],
    },
  },
  'stopped twice': {
    exec: { code: 130, out: '' },
    chat: { code: 130, out: '' },
  },
  'killed, and gone on with': {
    asked: 2,
    log: { outcome: 'success', turns: ['VT_SESSION_INTERRUPTED', 'completed'] },
    exec: {
      code: 0,
      out: 'Done.\n',
      err: [
        '✗ unified_exec run touch begun; sleep 60',
        '✗ unified_exec run touch begun; sleep 60  VT_CALL_INTERRUPTED  N s',
        'success: N requests',
      ],
    },
  },
  'killed, and left for something else': {
    asked: 2,
    log: {
      outcome: 'success',
      turns: ['VT_SESSION_INTERRUPTED', 'completed'],
      not_applied: ['unified_file b.txt VT_CALL_INTERRUPTED'],
    },
    exec: {
      code: 0,
      out: 'Something else.\nNot applied: unified_file b.txt (VT_CALL_INTERRUPTED)\n',
      err: [
        '✗ unified_exec run touch begun; sleep 60',
        'Not applied: unified_file b.txt (VT_CALL_INTERRUPTED)',
        'success: N requests',
      ],
    },
  },
  'a full disk': {
    asked: 1,
    log: { outcome: 'failed', stop: 'VT_SESSION_WRITE', turns: ['VT_SESSION_WRITE'] },
    exec: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_SESSION_WRITE: messages.jsonl cannot be written: ENOSPC: no space left on device, write.',
        '  Check free space and permissions of its folder, then resume the session.',
      ],
    },
    ask: {
      code: 1,
      out: '',
      err: [
        'vtcode: error: VT_SESSION_WRITE: messages.jsonl cannot be written: ENOSPC: no space left on device, write.',
        '  Check free space and permissions of its folder, then resume the session.',
      ],
    },
    chat: {
      code: 1,
      out: '',
      err: [
        'failed: N requests',
        'VT_SESSION_WRITE: messages.jsonl cannot be written: ENOSPC: no space left on device, write.',
        '  Check free space and permissions of its folder, then resume the session.',
      ],
    },
  },
}
