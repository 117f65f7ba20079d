import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootExec, lacks, nap, output, processesWith } from '../../support/exec.js'

let booted: Booted
let folder: string
beforeAll(async () => {
  booted = await bootExec()
  folder = mkdtempSync(join(tmpdir(), 'vtcode-test-'))
})
afterAll(async () => {
  await booted[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
const run = (input: object) => output(booted, { action: 'run', ...input })

/** Counts the bytes of both streams that pass through shell pipes to immediate readers. */
function throughShell(argv: string[]): { stdout_bytes: number; stderr_bytes: number } {
  const [out, err] = [join(folder, 'out'), join(folder, 'err')]
  const { status } = spawnSync(
    'bash',
    ['-c', `{ "$@" 2>&1 >&3 | cat >"${err}"; } 3>&1 | cat >"${out}"`, 'bash', ...argv],
    { env: { PATH: process.env.PATH, HOME: process.env.HOME } },
  )
  expect(status).toBe(0)
  return { stdout_bytes: readFileSync(out).length, stderr_bytes: readFileSync(err).length }
}

const node = (script: string): string[] => [process.execPath, '-e', script]
const small = (stream: string, lines: number): string =>
  `for (let i = 0; i < ${lines}; i++) process.${stream}.write(String(i).padStart(79, '.') + '\\n')`
const large = (stream: string, bytes: number): string => `process.${stream}.write('x'.repeat(${bytes}))`

describe('unified_exec: output of a Node program that calls process.exit()', () => {
  it.each([
    [
      'many small writes',
      node(`${small('stdout', 3600)}; process.exit(3)`),
      { stdout_bytes: 288_000, stderr_bytes: 0, exit_code: 3 },
    ],
    [
      'one large write',
      node(`${large('stdout', 288_000)}; process.exit(3)`),
      { stdout_bytes: 288_000, stderr_bytes: 0, exit_code: 3 },
    ],
    [
      'a million bytes at once',
      node(`${large('stdout', 1_000_000)}; process.exit(3)`),
      { stdout_bytes: 1_000_000, stderr_bytes: 0, exit_code: 3 },
    ],
    [
      'many small writes to stderr',
      node(`${small('stderr', 3600)}; process.exit(3)`),
      { stdout_bytes: 0, stderr_bytes: 288_000, exit_code: 3 },
    ],
    [
      'one large write to stderr',
      node(`${large('stderr', 288_000)}; process.exit(3)`),
      { stdout_bytes: 0, stderr_bytes: 288_000, exit_code: 3 },
    ],
    [
      'writes to both',
      node(`${small('stdout', 3600)}; ${large('stderr', 288_000)}; process.reallyExit(4)`),
      { stdout_bytes: 288_000, stderr_bytes: 288_000, exit_code: 4 },
    ],
    [
      'a kill of itself',
      node(`${small('stdout', 3600)}; process.kill(process.pid, 'SIGKILL')`),
      { stdout_bytes: 288_000, stderr_bytes: 0, signal: 'SIGKILL' },
    ],
    [
      'an uncaught error',
      node(`${small('stdout', 3600)}; throw new Error('x')`),
      { stdout_bytes: 288_000, exit_code: 1 },
    ],
  ])('returns the whole output of a Node program after %s', async (_, command, wanted) => {
    for (let round = 0; round < 3; round++) expect(await run({ command })).toMatchObject(wanted)
  })

  it('returns the whole output of a Node program below a shell and an npm-like wrapper, and the end of both', async () => {
    writeFileSync(join(booted.root, 'noisy.cjs'), `${small('stdout', 3600)}; process.exit(1)`)
    const ran = await run({ command: "sh -c 'node noisy.cjs || echo failed with $?'" })
    expect(ran).toMatchObject({ stdout_bytes: 288_000 + 'failed with 1\n'.length, truncated: true })
    const { output: end } = await output(booted, {
      action: 'inspect',
      session_id: ran.session_id,
      head_lines: 0,
      tail_lines: 2,
    })
    expect(end).toContain(`${'3599'.padStart(79, '.')}\nfailed with 1\n`)
  })

  it('loses no more of a write over a megabyte than a pipe of the shell does', async () => {
    const { stdout_bytes } = await run({ command: node(`${large('stdout', 5_000_000)}; process.exit(0)`) })
    expect(stdout_bytes).toBeGreaterThanOrEqual(1_048_576)
  })

  it.skipIf(lacks('bwrap'))('returns the whole output of a Node program in the sandbox', async () => {
    await using confined = await bootExec({ config: { sandbox: { mode: 'required' } } })
    await confined.write('noisy.cjs', `${small('stdout', 3600)}; ${large('stderr', 288_000)}; process.exit(3)`)
    const ran = await output(confined, { action: 'run', command: ['node', 'noisy.cjs'], response_format: 'detailed' })
    expect(ran).toMatchObject({ stdout_bytes: 288_000, stderr_bytes: 288_000, exit_code: 3, sandbox: 'bwrap' })
    const reopened = 'for i in 1 2 3; do echo "line $i" > /dev/stdout; echo "error $i" > /dev/stderr; done'
    expect(await output(confined, { action: 'run', command: ['bash', '-c', reopened] })).toMatchObject({
      stdout: 'line 1\nline 2\nline 3\n',
      stderr: 'error 1\nerror 2\nerror 3\n',
    })
  })
})

const python = (script: string): string[] => ['python3', '-c', `import os, sys, signal\n${script}`]
const printed = `for i in range(3600): print('x' * 79)`
/** Unflushed buffers are lost with the program for every reader. */
const badEndings: Record<string, string[]> = {
  'Python, exit with full buffers': python(`${printed}\nsys.exit(1 - 1)`),
  'Python, _exit with full buffers': python(`${printed}\nos._exit(0)`),
  'Python, flushed, then _exit': python(`${printed}\nsys.stdout.flush(); os._exit(0)`),
  'Python, SIGKILL': python(`${printed}\nsys.stdout.flush(); print('lost'); os.kill(os.getpid(), signal.SIGKILL)`),
  'Python, SIGTERM': python(`${printed}\nos.kill(os.getpid(), signal.SIGTERM)`),
  'bash, SIGKILL': ['bash', '-c', 'for i in {1..3000}; do echo line $i; echo error $i >&2; done; kill -9 $$'],
}

describe('unified_exec: output compared with a pipe of the shell', () => {
  for (const [name, command] of Object.entries(badEndings)) {
    it(`returns what a pipe of the shell gets from ${name}`, async () =>
      expect(await run({ command })).toMatchObject(throughShell(command)))
  }

  for (const [how, end] of Object.entries({
    exit: 'exit(0)',
    _exit: '_exit(0)',
    SIGKILL: 'kill(getpid(), 9)',
    SIGSEGV: 'raise(11)',
  })) {
    it.skipIf(lacks('gcc'))(`returns what a pipe of the shell gets from C with full buffers, ${how}`, async () => {
      const program = join(folder, how)
      const source = `#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>
        int main(void) { for (int i = 0; i < 20000; i++) { printf("line %d\\n", i); fprintf(stderr, "error %d\\n", i); } ${end}; }`
      expect(spawnSync('gcc', ['-x', 'c', '-', '-o', program], { input: source }).status).toBe(0)
      const came = await run({ command: [program] })
      expect(came).toMatchObject(throughShell([program]))
      expect(came.stderr_bytes).toBe(228_890)
    })
  }

  const lines = Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join('')
  const each = (what: string): string => `for i in {1..300}; do ${what}; done`
  it.each([
    ['> /dev/stdout', each('echo "line $i" > /dev/stdout'), lines, ''],
    ['> /dev/stderr', each('echo "line $i" > /dev/stderr'), '', lines],
    ['>> /proc/self/fd/1', each('echo "line $i" >> /proc/self/fd/1'), lines, ''],
    ['tee /dev/stderr', each('echo "line $i" | tee /dev/stderr'), lines, lines],
    [
      'a program that truncates and seeks its output',
      `python3 -c "import os, sys
for i in range(1, 301):
    sys.stdout.write(f'line {i}\\n'); sys.stdout.flush()
    for wrong in (lambda: os.ftruncate(1, 0), lambda: os.lseek(1, 0, 0)):
        try: wrong()
        except OSError: pass"`,
      lines,
      '',
    ],
    [
      'a file that is written by that name',
      `node -e "for (let i = 1; i < 301; i++) fs.writeFileSync('/dev/stdout', 'line ' + i + '\\n')"`,
      lines,
      '',
    ],
  ])('returns everything written through %s', async (_, script, stdout, stderr) => {
    expect(await run({ command: ['bash', '-c', script] })).toMatchObject({ stdout, stderr, exit_code: 0 })
  })
})

describe('unified_exec: end of output', () => {
  it('ends a command whose daemon keeps stdout and returns what it printed before', async () => {
    const long = nap()
    const script = `echo early; setsid sh -c 'echo daemon >&2; ${long}' & ${process.execPath} -e "${small('stdout', 3600).replaceAll('\\n', '\\\\n')}; process.exit(2)"`
    const ran = await output(booted, { action: 'run', command: ['bash', '-c', script] })
    expect(ran).toMatchObject({ stdout_bytes: 288_006, stderr: 'daemon\n', exit_code: 2 })
    for (const pid of processesWith(long.replace(' ', '\0'))) process.kill(pid, 'SIGKILL')
  })

  it('ends a program that prints for ever at its limit and returns both ends of its output', async () => {
    const ran = await run({ command: 'yes', timeout_secs: 1, max_output_tokens: 500 })
    expect(ran).toMatchObject({ timed_out: true, truncated: true })
    expect(ran.stdout.startsWith('y\ny\n')).toBe(true)
    expect(ran.stdout_bytes).toBeGreaterThan(1_000_000)
  })
})
