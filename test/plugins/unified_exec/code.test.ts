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
const python = (code: string, input: object = {}) => output(booted, { action: 'code', code, ...input })
const javascript = (code: string, input: object = {}) =>
  output(booted, { action: 'code', language: 'javascript', code, ...input })

describe.skipIf(lacks('python3'))('unified_exec/code: Python', () => {
  it('returns what a Python snippet prints and its variable result', async () => {
    expect(await python('print("hi")\nresult = {"n": [1, 2.5, None, "é"]}')).toMatchObject({
      stdout: 'hi\n',
      exit_code: 0,
      language: 'python3',
      result: { n: [1, 2.5, null, 'é'] },
      calls: [],
    })
    expect(await call(booted, { code: 'result = 7' })).toMatchObject({
      text: expect.stringMatching(/^\[result\] 7\nexit 0 in/),
    })
    for (const odd of [
      'result = {1, 2}',
      'result = float("nan")',
      'result = []\nresult.append(result)',
      'result = "x" * 300_000',
      'x = 1',
    ]) {
      expect(await python(odd), odd).not.toHaveProperty('result')
    }
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
    expect(await asking.call('unified_exec', { code })).toMatchObject({
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

describe('unified_exec/code: JavaScript', () => {
  it('runs a JavaScript snippet as a module in this Node with calls of tools', async () => {
    const code = `const { matches } = await vtcode.call('unified_search', { action: 'grep', pattern: 'TODO' })
const all = await Promise.all(matches.map(({ file }) => vtcode.call('unified_file', { action: 'read', path: file })))
let code
try { await vtcode.call('unified_file', { action: 'read', path: 'none' }) } catch (error) { code = error instanceof vtcode.CallError && error.code }
console.log(process.version)
export const result = { sizes: all.map(({ content }) => content.length), code }`
    expect(await javascript(code)).toMatchObject({
      stdout: `${process.version}\n`,
      result: { sizes: [15, 9], code: 'VT_PATH_NOT_FOUND' },
      exit_code: 0,
      language: 'javascript',
    })
  })

  it('accepts other names of JavaScript, passes input and reports failures like a program', async () => {
    expect(await output(booted, { code: 'export const result = 1', language: 'JS' })).toMatchObject({
      result: 1,
      language: 'javascript',
    })
    expect(await javascript('process.stdin.pipe(process.stdout)', { input: 'through' })).toMatchObject({
      stdout: 'through',
    })
    const failed = await javascript('throw new Error("no")')
    expect(failed).toMatchObject({ exit_code: 1 })
    expect(failed.stderr).toContain('Error: no')
    expect(await javascript('process.exit(5)')).toMatchObject({ exit_code: 5 })
    expect(await javascript('export const result = 1n')).toMatchObject({ exit_code: 1 })
  })
})

it('ends a snippet at its limit, with the calls and programs that it started', async () => {
  const left = nap()
  const began = Date.now()
  const code = `import { spawn } from 'node:child_process'\nspawn('sleep', ['${left.slice(6)}'])\nawait new Promise(() => setInterval(() => {}, 1000))`
  expect(await javascript(code, { timeout_secs: 1 })).toMatchObject({ timed_out: true, running: false })
  expect(Date.now() - began).toBeLessThan(15000)
  expect(processesWith(left.replace(' ', '\0'))).toEqual([])
})

it('leaves nothing of a snippet in the temporary folder', async () => {
  await javascript('export const result = import.meta.url')
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
  const path = process.env.PATH
  process.env.PATH = '/nonexistent'
  try {
    expect(await error(booted, { code: 'print(1)' })).toMatchObject({
      code: 'VT_EXEC_RUNTIME',
      hint: expect.stringContaining('javascript'),
    })
  } finally {
    process.env.PATH = path
  }
  expect(await error(booted, { code: 'x'.repeat(300_000) })).toMatchObject({ code: 'VT_INPUT_TOO_LARGE' })
})

it.skipIf(lacks('bwrap', 'python3'))('runs a snippet in the sandbox with its calls of tools', async () => {
  await using boxed = await bootKernel({ files: { 'a.txt': 'x' }, config: { sandbox: { mode: 'required' } } })
  const code = `import vtcode, os
result = [vtcode.call("unified_file", {"action": "read", "path": "a.txt"})["content"], os.access("/usr", os.W_OK)]
open("made", "w").write("in the workspace")`
  expect(await output(boxed, { code, response_format: 'detailed' })).toMatchObject({
    result: ['x', false],
    sandbox: 'bwrap',
    exit_code: 0,
  })
  expect(await boxed.read('made')).toBe('in the workspace')
  expect(
    await output(boxed, {
      code: 'export const result = (await vtcode.call("unified_file", { action: "read", path: "a.txt" })).content',
      language: 'javascript',
    }),
  ).toMatchObject({ result: 'x' })
  expect(existsSync('/usr/made')).toBe(false)
})
