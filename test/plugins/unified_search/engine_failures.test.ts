import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { holdForFile } from '../../support/held.js'

// An engine that fails is never an empty answer: another engine answers with a notice, or an error names the fault.

const code = 'export function alpha(x) {\n  return other(x)\n}\nalpha(1)\n'
let ws: Booted
beforeAll(async () => {
  ws = holdForFile(
    await bootKernel({
      files: {
        'b/c.js': code,
        'e.py': 'def beta(x):\n    return x\n\nalpha(1)\n',
        'd.js': code,
        '.gitignore': 'out\n',
        'large.txt': 'alpha\n'.repeat(9000),
      },
    }),
  )
})
const variables = ['VTCODE_RIPGREP_BIN', 'VTCODE_AST_GREP_BIN'] as const
afterEach(() => {
  for (const variable of variables) delete process.env[variable]
})

/** Makes a program the engine. It answers the question for its version, so that it is accepted. */
function setEngine(variable: (typeof variables)[number], body: string): void {
  const program = join(ws.home, 'engine')
  writeFileSync(
    program,
    `#!/bin/bash\n[ "$1" = --version ] && { echo "ast-grep 0.51.1"; exit 0; }\n[ "$1" = --help ] && exit 0\n${body}\n`,
  )
  chmodSync(program, 0o755)
  process.env[variable] = program
}

const failures: [how: string, body: string][] = [
  ['ends with status 2 and says nothing', 'exit 2'],
  ['ends with status 2 and refuses a flag', 'echo "rg: unrecognized flag --engine" >&2; exit 2'],
  ['is an older version', `echo "error: Found argument '--json' which wasn't expected" >&2; exit 2`],
  ['ends with status 1 and says nothing', 'exit 1'],
  ['ends with status 0 and says nothing', 'exit 0'],
  ['ends with status 101', 'echo "thread main panicked" >&2; exit 101'],
  ['cannot be executed', 'exit 126'],
  ['is ended by SIGKILL', 'kill -9 $$'],
  ['is ended by SIGSEGV after a part of its answer', `printf '{"type":"be'; kill -SEGV $$`],
  ['prints garbage', 'head -c 3000 /dev/urandom; exit 0'],
  [
    'prints garbage lines that look like events',
    `printf '{"type":"match","data":5}\\n{"type":"end"}\\n[1]\\n'; exit 0`,
  ],
  ['prints a page of HTML', 'echo "<html><body>proxy</body></html>"; exit 0'],
  ['prints numbers', 'printf "1\\n2\\n3\\n"; exit 0'],
  ['prints the first half of its answer', 'exec "$REAL" "$@" | head -c 30; exit 0'],
]

const ripgrepCalls: [name: string, tool: string, input: object][] = [
  ['grep', 'unified_search', { action: 'grep', pattern: 'alpha', count: 'exact' }],
  ['grep that finds nothing', 'unified_search', { action: 'grep', pattern: 'absent' }],
  ['grep of a named file', 'unified_search', { action: 'grep', pattern: 'alpha', path: 'd.js' }],
  ['grep of two patterns', 'unified_search', { action: 'grep', patterns: ['alpha', 'other'] }],
  [
    'grep with very many matches',
    'unified_search',
    { action: 'grep', pattern: 'alp.a', path: '.', max_results: 1, count: 'exact' },
  ],
  ['files with a text', 'unified_search', { action: 'list', mode: 'find_content', content_pattern: 'alpha' }],
  ['files by name', 'unified_search', { action: 'list', mode: 'find_name', name_pattern: '*.js' }],
  ['all files', 'unified_search', { action: 'list', mode: 'recursive' }],
  ['structural', 'unified_search', { action: 'structural', pattern: 'alpha($A)', lang: 'javascript' }],
  ['outline', 'unified_search', { action: 'outline', path: '.' }],
  ['fuzzy', 'grep_search', { action: 'fuzzy', pattern: 'alpha' }],
  ['similarity', 'grep_search', { action: 'similarity', reference_file: 'b/c.js' }],
]
const answers = new Map<string, Promise<unknown>>()
/** Answers a call by the real engines, once for all failures. */
function callWhole(tool: string, input: object): Promise<any> {
  const key = JSON.stringify([tool, input])
  const known = answers.get(key) ?? ws.call(tool, input as never)
  answers.set(key, known)
  return known
}
/** Results that count something. */
const amount = ({ output }: any): number =>
  output.total_matches ?? output.total_files ?? output.total ?? output.files?.length ?? output.matches?.length

describe.each(failures)('unified_search: ripgrep that %s', (how, body) => {
  it.each(ripgrepCalls)('answers as with ripgrep, or names the fault: %s', async (name, tool, input) => {
    const whole = await callWhole(tool, input)
    setEngine('VTCODE_RIPGREP_BIN', body.replace('$REAL', rgPath))
    const result: any = await ws.call(tool, input as never)
    if (!result.ok) {
      expect(result.error.code, `${name}: ${result.error.message}`).toMatch(
        /^VT_(SEARCH_ENGINE_MISSING|STRUCTURAL|ENGINE)\w*$/,
      )
      return
    }
    expect(amount(result), `${how}: ${JSON.stringify(result).slice(0, 400)}`).toBe(amount(whole))
    const isByRipgrep = name.startsWith('grep') || name === 'files with a text' || name === 'fuzzy'
    if (isByRipgrep) expect((result.notices ?? []).map(({ code }: any) => code)).toContain('VT_SEARCH_FALLBACK')
  })
})

const astGrepCalls: [name: string, input: object][] = [
  ['structural', { action: 'structural', pattern: 'alpha($A)', lang: 'javascript' }],
  ['structural that finds nothing', { action: 'structural', pattern: 'absent($A)', lang: 'javascript' }],
  ['structural of a named file', { action: 'structural', pattern: 'alpha($A)', lang: 'javascript', path: 'd.js' }],
  ['structural in another language', { action: 'structural', pattern: 'alpha($A)', lang: 'python' }],
  ['rule', { action: 'structural', workflow: 'scan', pattern: 'alpha($A)', lang: 'python' }],
  ['outline', { action: 'outline', path: '.' }],
  ['outline of another language', { action: 'outline', path: 'e.py' }],
]

describe.each(failures)('unified_search: ast-grep that %s', (how, body) => {
  it.each(astGrepCalls)('answers as with ast-grep, or names the fault: %s', async (name, input) => {
    const whole = await callWhole('unified_search', input)
    setEngine('VTCODE_AST_GREP_BIN', body.replace('$REAL', 'cat'))
    const result: any = await ws.call('unified_search', input as never)
    if (!whole.ok || !result.ok) return expect(result.error.code, `${name}: ${result.error.message}`).toMatch(/^VT_/)
    expect(amount(result), `${how}: ${JSON.stringify(result).slice(0, 400)}`).toBe(amount(whole))
  })
})

it('names the fault where ripgrep failed and the other engine cannot read the pattern', async () => {
  setEngine('VTCODE_RIPGREP_BIN', 'exit 2')
  expect(await ws.call('unified_search', { action: 'grep', pattern: 'al(?=pha)' })).toMatchObject({
    ok: false,
    error: { code: 'VT_SEARCH_ENGINE_MISSING' },
  })
  expect(await ws.call('unified_search', { action: 'grep', pattern: 'al(pha' })).toMatchObject({
    ok: false,
    error: { code: 'VT_SEARCH_PATTERN' },
  })
})
