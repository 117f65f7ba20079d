import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Booted } from 'vtcode/test'
import { bootKernel } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootExec, call, error, lacks, nap, output, processesWith } from '../../support/exec.js'
import { bin, surroundings } from '../../support/program.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec({ files: { 'a.txt': 'alpha\nTODO one\n', 'b.txt': 'TODO two\n' } })
})
afterEach(() => booted[Symbol.asyncDispose]())
const python = (code: string, input: object = {}) =>
  output(booted, { action: 'code', language: 'python3', code, ...input })
const node = (code: string, input: object = {}) => output(booted, { action: 'code', language: 'node', code, ...input })

/** The result of a snippet as its text shows it, and the notice about it. */
const shownResult = ({ text, notices = [], ...answer }: any) => [
  answer.ok ? JSON.parse(/^\[result\] (.*)$/m.exec(text)?.[1] ?? '"no result"') : answer.error,
  notices.map(({ message }: any) => message),
]
const expectedResult = (value: unknown, kinds: string) => [
  value,
  kinds === '' ? [] : [`result has values that JSON lacks: ${kinds}.`],
]

describe.skipIf(lacks('python3'))('unified_exec/code: Python', () => {
  it('returns what a Python snippet prints and its variable result', async () => {
    expect(await python('print("hi")\nresult = {"n": [1, 2.5, None, "é"]}')).toMatchObject({
      stdout: 'hi\n',
      exit_code: 0,
      language: 'python3',
      result: { n: [1, 2.5, null, 'é'] },
      calls: [],
    })
    expect(await call(booted, { language: 'python', code: 'result = 7' })).toMatchObject({
      text: expect.stringMatching(/^\[result\] 7\nexit 0 in/),
    })
    expect(await python('x = 1')).not.toHaveProperty('result')
  })

  it('returns any Python value as JSON and names the kinds that JSON lacks', async () => {
    const setup = `import asyncio, collections, dataclasses, datetime, decimal, enum, pathlib
@dataclasses.dataclass
class Point:
    x: int
class Plain:
    def __init__(self):
        self.a = {1}
Pair = collections.namedtuple("Pair", "a b")
class Level(enum.IntEnum):
    HIGH = 3
cycle = []
cycle.append(cycle)
deep = []
for _ in range(200):
    deep = [deep]
`
    const rows: [code: string, value: unknown, kinds: string][] = [
      ['{7, 8}', [7, 8], 'set as a list'],
      ['b"bytes"', 'bytes', 'bytes as text'],
      ['b"\\xff"', '/w==', 'bytes as base64'],
      ['datetime.date(2020, 1, 2)', '2020-01-02', 'date as text'],
      ['pathlib.PurePosixPath("a/b")', 'a/b', 'PurePosixPath as text'],
      ['{(1, 2): 33}', { '(1, 2)': 33 }, 'tuple keys as text'],
      [
        '{1: "a", "1": "b"}',
        [
          [1, 'a'],
          ['1', 'b'],
        ],
        'dict as pairs, because keys look the same',
      ],
      ['range(3)', [0, 1, 2], 'range as a list'],
      ['float("inf")', 'inf', 'float as text'],
      ['float("nan")', 'nan', 'float as text'],
      ['2**64', '18446744073709551616', 'a large int as text'],
      ['decimal.Decimal("1.5")', '1.5', 'Decimal as text'],
      ['ValueError("bad")', 'ValueError: bad', 'ValueError as text'],
      ['Point(1)', { x: 1 }, 'Point as its fields'],
      ['Plain()', { a: [1] }, 'Plain as its attributes, set as a list'],
      ['cycle', ['<cycle>'], "a cycle as '<cycle>'"],
      ['deep', expect.any(Array), 'the deepest levels as text'],
      ['print', '<built-in function print>', 'builtin_function_or_method as text'],
      ['asyncio.sleep(1)', expect.stringContaining('coroutine'), 'an awaitable that was not awaited as text'],
      [
        '{"a": [None, True, 1.5, "é"], 2: Level.HIGH, "p": Pair(1, 2)}',
        { a: [null, true, 1.5, 'é'], 2: 3, p: [1, 2] },
        '',
      ],
    ]
    const code = (value: string) => call(booted, { language: 'python3', code: `${setup}result = ${value}` })
    const answers = await Promise.all(rows.map(async ([value]) => [value, shownResult(await code(value))]))
    expect(answers).toEqual(rows.map(([value, result, kinds]) => [value, expectedResult(result, kinds)]))
  })

  it('says why a Python result cannot be shown and how to show it', async () => {
    const broken = 'class Broken:\n    def __repr__(self):\n        raise OSError("no words")\nresult = Broken()'
    for (const [code, why] of [
      ['result = "x" * 300_000', 'it is 300002 bytes of JSON; at most 262144 are shown'],
      ['result = range(10**9)', 'it has more than 131072 values'],
      [broken, 'OSError: no words'],
    ] as const)
      expect(await call(booted, { language: 'py', code })).toMatchObject({
        notices: [
          {
            code: 'VT_EXEC_RESULT',
            message: `result cannot be shown: ${why}. Print the parts that matter, or write them to a file.`,
          },
        ],
      })
  })

  it('reports the failure of a Python snippet like that of a program', async () => {
    const failed = await python('def f():\n    raise ValueError("no")\nf()')
    expect(failed).toMatchObject({ exit_code: 1 })
    expect(failed.stderr).toMatch(/Traceback[\s\S]*snippet\.py", line 3[\s\S]*ValueError: no/)
    expect(failed.stderr).not.toContain('start.py')
    expect(await python('result = 1\nraise SystemExit(4)')).toMatchObject({ exit_code: 4, result: 1 })
    expect((await python('x = (')).stderr).toContain('SyntaxError')
    expect(
      await python('import sys, os\nprint(__name__, sys.stdin.read(), os.getcwd())', { input: 'in' }),
    ).toMatchObject({ stdout: `__main__ in ${booted.root}\n` })
  })

  it('calls tools from Python and shows the model only what the snippet keeps', async () => {
    const code = `import vtcode
matches = vtcode.call("unified_search", {"action": "grep", "pattern": "TODO"})["matches"]
texts = [vtcode.call("unified_file", {"action": "read", "path": match["file"]})["content"] for match in matches]
result = sum(len(text) for text in texts)`
    const answer = await python(code)
    expect(answer).toMatchObject({ result: 24, stdout: '', exit_code: 0 })
    expect(answer.calls).toMatchObject([
      { tool: 'unified_search', action: 'grep', ok: true },
      { tool: 'unified_file', action: 'read', ok: true },
      { tool: 'unified_file', action: 'read', ok: true },
    ])
    expect(JSON.stringify(answer)).not.toContain('alpha')
  })

  it('starts no program through a tool call of a snippet, under any name', async () => {
    const code = `import vtcode
seen = []
for tool, input in [("unified_exec_run", {"command": "touch made"}), ("functions.unified_exec", {"action": "run", "command": "touch made"}), ("run_shell", {"program": "touch", "args": ["made"]}), ("run_terminal_cmd", {"command": ["touch", "made"]}), ("run_pty_cmd", {"command": "touch made"}), ("execute_code", {"code": "open('made', 'w')"}), ("unified_exec_code", {"code": "open('made', 'w')"})]:
    try:
        vtcode.call(tool, input)
    except vtcode.CallError as error:
        seen.append(error.code)
result = seen`
    expect((await python(code)).result).toEqual(Array(7).fill('VT_CALL_DEPTH'))
    expect(existsSync(`${booted.root}/made`)).toBe(false)
  })

  it('raises the failures of a tool as exceptions in Python and applies the policy to each call', async () => {
    const code = `import vtcode
seen = []
for tool, input in [("unified_file", {"action": "read", "path": "none"}), ("unified_exec", {"command": "true"}), ("mcp__vtcode__Unified-Exec", {"command": "true"}), ("nope", {})]:
    try:
        vtcode.call(tool, input)
    except vtcode.CallError as error:
        seen.append([error.code, bool(error.hint), str(error).startswith(error.code)])
result = seen`
    const answer = await python(code)
    expect(answer.result).toEqual([
      ['VT_PATH_NOT_FOUND', true, true],
      ['VT_CALL_DEPTH', true, true],
      ['VT_CALL_DEPTH', true, true],
      ['VT_TOOL_UNKNOWN', true, true],
    ])
    expect(answer.calls.map(({ code }: { code: string }) => code)).toEqual([
      'VT_PATH_NOT_FOUND',
      'VT_CALL_DEPTH',
      'VT_CALL_DEPTH',
      'VT_TOOL_UNKNOWN',
    ])
  })

  it('allows a snippet nothing that the model could not do directly', async () => {
    await using asking = await bootKernel({
      mode: 'ask',
      files: { 'a.txt': 'x' },
      config: { sandbox: { mode: 'off' }, policy: { allow: ['unified_exec/code'] } },
    })
    const code = `import vtcode
try:
    vtcode.call("unified_file", {"action": "delete", "path": "a.txt"})
except vtcode.CallError as error:
    result = error.code`
    expect(await asking.call('unified_exec', { language: 'python3', code })).toMatchObject({
      ok: true,
      output: { result: 'VT_POLICY_NEEDS_APPROVAL', calls: [{ ok: false, code: 'VT_POLICY_NEEDS_APPROVAL' }] },
    })
    expect(await asking.read('a.txt')).toBe('x')
  })

  it('makes at most a hundred calls in one snippet', async () => {
    const code = `import vtcode
count = 0
try:
    for _ in range(200):
        vtcode.call("unified_file", {"action": "read", "path": "a.txt"})
        count += 1
except vtcode.CallError as error:
    result = [count, error.code]`
    const answer = await python(code)
    expect(answer.result).toEqual([100, 'VT_EXEC_LIMIT'])
    expect(answer.calls.length).toBe(100)
  })

  it('survives a snippet that writes garbage on its private channel', async () => {
    const code = `import os
for line in [b"nonsense\\n", b"[1]\\n", b"null\\n", b'{"id":1}\\n', b'{"tool":7}\\n', b'{"id":2,"tool":"unified_file","input":"x"}\\n']:
    os.write(3, line)
os.close(3)
print("done")`
    expect(await python(code)).toMatchObject({ exit_code: 0, stdout: 'done\n' })
    expect(await python('print(1)')).toMatchObject({ stdout: '1\n' })
  })
})

describe('unified_exec/code: Node', () => {
  it('runs a Node snippet as a module with calls of tools', async () => {
    const code = `const { matches } = await vtcode.call('unified_search', { action: 'grep', pattern: 'TODO' })
const all = await Promise.all(matches.map(({ file }) => vtcode.call('unified_file', { action: 'read', path: file })))
let code
try { await vtcode.call('unified_file', { action: 'read', path: 'none' }) } catch (error) { code = error instanceof vtcode.CallError && error.code }
console.log(process.version)
export const result = { sizes: all.map(({ content }) => content.length), code }`
    expect(await node(code)).toMatchObject({
      stdout: `${process.version}\n`,
      result: { sizes: [15, 9], code: 'VT_PATH_NOT_FOUND' },
      exit_code: 0,
      language: 'node',
    })
  })

  it('accepts the runtime as another name of the language, passes input and reports failures like a program', async () => {
    expect(await output(booted, { code: 'export const result = 1', runtime: 'NODE' })).toMatchObject({
      result: 1,
      language: 'node',
    })
    expect(await node('process.stdin.pipe(process.stdout)', { input: 'through' })).toMatchObject({
      stdout: 'through',
    })
    const failed = await node('throw new Error("no")')
    expect(failed).toMatchObject({ exit_code: 1 })
    expect(failed.stderr).toContain('Error: no')
    expect(await node('process.exit(5)')).toMatchObject({ exit_code: 5 })
  })

  it('returns any value of Node as JSON and names the kinds that JSON lacks', async () => {
    const setup = `class Hidden { #a = 1 }
class Point { x = 1 }
const cycle = []
cycle.push(cycle)
`
    const rows: [code: string, value: unknown, kinds: string][] = [
      ['new Map([["k", 77]])', { k: 77 }, 'Map as an object'],
      ['new Map([[1, 2]])', [[1, 2]], 'Map as pairs'],
      ['new Set([77])', [77], 'Set as a list'],
      ['new Error("bad77")', 'Error: bad77', 'Error as text'],
      ['NaN', 'NaN', 'NaN as text'],
      ['-Infinity', '-Infinity', '-Infinity as text'],
      ['10n', '10', 'bigint as text'],
      ['new Date(0)', '1970-01-01T00:00:00.000Z', 'Date as text'],
      ['new Date(NaN)', 'Invalid Date', 'Date as text'],
      ['/x/g', '/x/g', 'RegExp as text'],
      ['Buffer.from("hi")', 'hi', 'bytes as text'],
      ['new Uint8Array([255])', '/w==', 'bytes as base64'],
      ['new Float64Array([1.5])', [1.5], 'Float64Array as a list'],
      ['new Hidden()', 'Hidden {}', 'Hidden as text'],
      ['new Point()', { x: 1 }, 'Point as its properties'],
      ['Symbol("s")', 'Symbol(s)', 'symbol as text'],
      ['[undefined]', [null], 'undefined as null'],
      ['cycle', ['<cycle>'], "a cycle as '<cycle>'"],
      ['[Promise.resolve(7)]', ['Promise { 7 }'], 'a promise that was not awaited as text'],
      ['Promise.resolve(77)', 77, ''],
      ['new URL("http://a.b/")', 'http://a.b/', ''],
      ['{ a: [null, true, 1.5, "é"] }', { a: [null, true, 1.5, 'é'] }, ''],
    ]
    const code = (value: string) => call(booted, { language: 'node', code: `${setup}export const result = ${value}` })
    const answers = await Promise.all(rows.map(async ([value]) => [value, shownResult(await code(value))]))
    expect(answers).toEqual(rows.map(([value, result, kinds]) => [value, expectedResult(result, kinds)]))
    expect(await code('{ get a() { throw new TypeError("no") } }')).toMatchObject({
      notices: [{ code: 'VT_EXEC_RESULT', message: expect.stringMatching(/^result cannot be shown: TypeError: no/) }],
    })
  })

  it('reports an await that nothing can end, and code that had not ended at its limit', async () => {
    const notices = async (code: string, input: object = {}) => {
      const answer = await call(booted, { language: 'node', code, ...input })
      return answer.notices?.map((one) => `${one.code}: ${one.message}`) ?? []
    }
    expect(await notices('await new Promise(() => {})')).toEqual([
      'VT_EXEC_UNSETTLED: An `await` never ended, because nothing was left to settle its promise.',
    ])
    expect(await notices('await new Promise(() => setInterval(() => {}, 1000))', { timeout_secs: 2 })).toEqual([
      expect.stringMatching(/^VT_EXEC_UNSETTLED: The code itself had not ended/),
    ])
    expect(await notices('setInterval(() => {}, 1000)', { timeout_secs: 2 })).toEqual([
      expect.stringMatching(/^VT_EXEC_UNSETTLED: The code had ended, but a timer/),
    ])
    expect(await notices('process.exit(13)')).toEqual([])
  })
})

it('ends a snippet at its limit, with the calls and programs that it started', async () => {
  const left = nap()
  const began = Date.now()
  const code = `import { spawn } from 'node:child_process'\nspawn('sleep', ['${left.slice(6)}'])\nawait new Promise(() => setInterval(() => {}, 1000))`
  expect(await node(code, { timeout_secs: 1 })).toMatchObject({ timed_out: true, running: false })
  expect(Date.now() - began).toBeLessThan(15000)
  expect(processesWith(left.replace(' ', '\0'))).toEqual([])
})

it('leaves nothing of a snippet in the temporary folder', async () => {
  await node('export const result = import.meta.url')
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('vtcode-code-'))).toEqual([])
})

it.skipIf(lacks('python3'))(
  'removes the folder of a killed snippet at the next one and keeps that of a live program',
  async () => {
    const place = join(booted.home, 'tmp')
    mkdirSync(place)
    const folders = (): string[] => readdirSync(place).filter((name) => name.startsWith('vtcode-code-'))
    const start = (code: string) =>
      spawn(
        process.execPath,
        [
          bin,
          'call',
          '--mode',
          'auto',
          '--config',
          'policy.allow=["unified_exec/code"]',
          '--config',
          'sandbox.mode=off',
          'unified_exec',
          'code',
          '--language',
          'python3',
          '--code',
          code,
        ],
        { cwd: booted.root, env: { ...surroundings(booted), TMPDIR: place } },
      )
    const begun = async (): Promise<[ReturnType<typeof start>, string]> => {
      const before = folders()
      const child = start('import time\ntime.sleep(60)')
      for (;;) {
        const made = folders().find((name) => !before.includes(name))
        if (made && existsSync(join(place, made, 'snippet.py'))) return [child, made]
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    // Folders with similar names, and one of another machine or container with the id of a dead process.
    const [killed, left] = await begun()
    const strange = ['vtcode-code-notes', left.replace(/-[0-9a-f]{8}-/, '-00000000-')]
    for (const name of strange) mkdirSync(join(place, name))
    const [alive, used] = await begun()
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(folders().sort()).toEqual([left, used, ...strange].sort())
    const last = start('print(1)')
    await once(last, 'exit')
    expect(folders().sort()).toEqual([used, ...strange].sort())
    alive.kill('SIGTERM')
    await once(alive, 'exit')
    expect(folders().sort()).toEqual(strange.sort())
  },
)

it('names a missing interpreter and the other language', async () => {
  await using bare = await bootExec({ env: { PATH: '/nonexistent' } })
  expect(await error(bare, { code: 'print(1)', language: 'python3' })).toMatchObject({
    code: 'VT_EXEC_RUNTIME',
    hint: expect.stringContaining('javascript'),
  })
  expect(await error(booted, { code: 'x'.repeat(1_100_000) })).toMatchObject({ code: 'VT_INPUT_TOO_LARGE' })
})

it.skipIf(lacks('bwrap', 'python3'))('runs a snippet in the sandbox with its calls of tools', async () => {
  await using boxed = await bootKernel({ files: { 'a.txt': 'x' }, config: { sandbox: { mode: 'required' } } })
  const code = `import vtcode, os
result = [vtcode.call("unified_file", {"action": "read", "path": "a.txt"})["content"], os.access("/usr", os.W_OK)]
open("made", "w").write("in the workspace")`
  expect(await output(boxed, { code, language: 'python3', response_format: 'detailed' })).toMatchObject({
    result: ['x', false],
    sandbox: 'bwrap',
    exit_code: 0,
  })
  expect(await boxed.read('made')).toBe('in the workspace')
  expect(
    await output(boxed, {
      code: 'export const result = (await vtcode.call("unified_file", { action: "read", path: "a.txt" })).content',
      language: 'node',
    }),
  ).toMatchObject({ result: 'x' })
  expect(existsSync('/usr/made')).toBe(false)
})
