import { stripVTControlCharacters } from 'node:util'
import { ok, type Context, type Result } from '../../../core/index.js'
import { cut } from '../../lib/base/index.js'
import { runProject } from './project.js'
import type { StructuralCall } from './types.js'

const MAX_OUTPUT = 64_000

/** Workflow `test`: runs the rule tests of the project; never writes snapshots. `undefined` without ast-grep. */
export async function runRuleTests({ input }: StructuralCall, context: Context): Promise<Result | undefined> {
  const chunks: Buffer[] = []
  const args = ['test', ...(input.skip_snapshot_tests ? ['--skip-snapshot-tests'] : [])]
  const answered = await runProject(context, input, args, (chunk) => void chunks.push(chunk))
  if (!answered) return undefined
  const stdout = stripVTControlCharacters(Buffer.concat(chunks).toString())
  const rules = [...stdout.matchAll(/^(PASS|FAIL) (\S+) *(\S*)$/gm)].map(([, word, id, cases]) => ({
    id: id!,
    status: word === 'PASS' ? ('passed' as const) : ('failed' as const),
    cases: cases!,
  }))
  const [, passed = '0', failed = '0'] = /(\d+) passed; (\d+) failed/.exec(stdout + answered.stderr) ?? []
  const all_passed = answered.exit_code === 0
  const summary = {
    status: all_passed ? 'passed' : 'failed',
    passed: Number(passed),
    failed: Number(failed),
    total: Number(passed) + Number(failed),
    rules,
  }
  const output = {
    workflow: 'test',
    passed: all_passed,
    stdout: cut(stdout, MAX_OUTPUT).text,
    stderr: cut(answered.stderr, MAX_OUTPUT).text,
    backend: 'ast-grep',
    config_path: input.config_path,
    summary,
  }
  const lines = rules.map(({ id, status, cases }) => `${status} ${id} ${cases}`)
  const why = all_passed ? [] : [describeFailures(output)]
  return ok(output, { text: [...lines, ...why, `${summary.passed} passed, ${summary.failed} failed`].join('\n') })
}

/** Returns what the program states about the cases that failed: the end of its output after the list of rules. */
function describeFailures({ stdout, stderr }: { stdout: string; stderr: string }): string {
  const [, details = stdout + stderr] = /^-+ *Case Details *-+$([^]*)/m.exec(stdout) ?? []
  return details.replace(/^(?:PASS|FAIL) .*$/gm, '').trim()
}
