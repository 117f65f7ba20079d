import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootExec, call, eventually, output } from '../../support/exec.js'

// Built from parts, so that no scanner reports this file as a leak.
const canary = `sk-${'CANARY'}${'0123456789abcdef'.repeat(2)}`
const token = `ghp_${'Ab0'.repeat(12)}`
const key = [
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  ...Array.from({ length: 5 }, () => 'b3BlbnNzaC1rZXktdjEA'.repeat(3)),
  '-----END OPENSSH PRIVATE KEY-----',
].join('\n')

it('redacts a secret that arrives in pieces whole, wherever it is cut', async () => {
  process.env['SLOW_PASSWORD'] = 'correct-horse-battery'
  await using booted = await bootExec()
  const cuts: [name: string, secret: string, at: number][] = [
    ['token', token, 1],
    ['token', token, 3],
    ['token', token, 20],
    ['key', key, 3],
    ['key', key, 20],
    ['key', key, 150],
    ['jwt', `eyJ${'aB3'.repeat(5)}.eyJ${'aB3'.repeat(5)}.${'aB3'.repeat(5)}`, 25],
  ]
  await booted.write(
    'slow.py',
    `import sys, time
for piece in sys.argv[1:]:
    sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.9)
print(" end")`,
  )
  await Promise.all(
    cuts.map(async ([name, secret, at], index) => {
      let answer: any = await call(booted, {
        action: 'run',
        command: ['python3', 'slow.py', 'before ', secret.slice(0, at), secret.slice(at)],
        yield_time_ms: 1300,
      })
      let told = ''
      for (let round = 0; round < 20; round += 1) {
        told += answer.output.stdout
        if (!answer.output.running) break
        answer = await call(booted, { action: 'poll', session_id: answer.output.session_id, yield_time_ms: 400 })
      }
      expect([name, at, index, told]).toEqual([
        name,
        at,
        index,
        expect.stringMatching(/^before \[redacted:\w+\] end\n$/),
      ])
    }),
  )
})

it('keeps text that only begins like a secret and shows the prompt of a terminal at once', async () => {
  await using booted = await bootExec()
  const asked: any = await call(booted, {
    action: 'run',
    command: 'printf "Continue? [y/n] "; read x; printf "class=sk-"; sleep 0.3',
    yield_time_ms: 500,
  })
  expect(asked.output).toMatchObject({ running: true, stdout: 'Continue? [y/n] ' })
  const ended: any = await call(booted, {
    action: 'write',
    session_id: asked.output.session_id,
    input: 'y\n',
    yield_time_ms: 5000,
  })
  const rest: any = ended.output.running
    ? await call(booted, { action: 'poll', session_id: asked.output.session_id, yield_time_ms: 5000 })
    : undefined
  expect(ended.output.stdout + (rest?.output.stdout ?? '')).toBe('class=sk-')
})

it('redacts a secret that a command prints in the result, the record and the spool file', async () => {
  await using booted = await bootExec()
  await booted.write(
    'print.py',
    `import sys\nprint(${JSON.stringify(canary)})\nfor i in range(200000): print("line", i)\nprint(${JSON.stringify(token)})\nprint(${JSON.stringify(key)}, file=sys.stderr)\nprint("x" * 9_000_000, ${JSON.stringify(canary)})\nprint("end")`,
  )
  const long = await call(booted, { action: 'run', command: ['python3', 'print.py'], max_output_tokens: 50 })
  const short = await call(booted, {
    action: 'run',
    command: `echo ${canary}; echo ${token} >&2`,
    max_output_tokens: 5,
  })
  await call(booted, { action: 'run', command: ['true'], env: { HARMLESS: canary }, input: token })
  const again = await call(booted, { action: 'inspect', session_id: (long as any).output.session_id, stream: 'stderr' })
  expect(long).toMatchObject({ ok: true, output: { exit_code: 0, truncated: true, spool_path: expect.any(String) } })
  await booted.kernel.close()

  const files = readdirSync(join(booted.root, '.vtcode'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const written = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join('\n')
  expect(written).toContain('line 199999\n')
  for (const text of [written, JSON.stringify([long, short, again])]) {
    for (const secret of [canary, token, 'b3BlbnNzaC1rZXk'])
      expect(text.includes(secret), secret.slice(0, 6)).toBe(false)
  }
  expect((await booted.read((long as any).output.spool_path))?.length).toBe((long as any).output.stdout_bytes)
})

describe('unified_exec: secrets in a spool file', () => {
  const spooled = (root: string): string[] =>
    !existsSync(join(root, '.vtcode/spool'))
      ? []
      : readdirSync(join(root, '.vtcode/spool'))
          .filter((name) => name.endsWith('.txt'))
          .map((name) => join(root, '.vtcode/spool', name))

  it('redacts secrets in a spool file with a broken search engine and across block borders', async () => {
    await using booted = await bootExec()
    const engine = join(booted.home, 'rg')
    writeFileSync(engine, '#!/bin/sh\nexit 2\n')
    chmodSync(engine, 0o755)
    process.env['VTCODE_RIPGREP_BIN'] = engine
    try {
      await booted.write(
        'print.py',
        `print("x" * (1048576 - 20) + " " + ${JSON.stringify(token)})\nprint("-" * 2_000_000)\nprint(${JSON.stringify(canary)})\nprint("end")`,
      )
      const { spool_path, stdout_bytes } = await output(booted, {
        action: 'run',
        command: ['python3', 'print.py'],
        max_output_tokens: 50,
      })
      await booted.kernel.close()
      const kept = await booted.read(spool_path)
      expect(kept?.length).toBe(stdout_bytes)
      expect(kept?.replace(/x{9,}|-{9,}/g, '…')).toMatch(
        /^… \[redacted:github_token\]\*+\n…\n\[redacted:api_key\]\*+\nend\n$/,
      )
    } finally {
      delete process.env['VTCODE_RIPGREP_BIN']
    }
  })

  it('redacts a secret whole when one part came before an answer and the rest after it', async () => {
    await using booted = await bootExec()
    await booted.write(
      'slow.py',
      `import sys, time\nprint("line\\n" * 100_000 + ${JSON.stringify(canary.slice(0, 30))}, end="", flush=True)\ntime.sleep(2)\nprint(${JSON.stringify(canary.slice(30))})`,
    )
    const { spool_path, session_id } = await output(booted, {
      action: 'run',
      command: ['python3', 'slow.py'],
      max_output_tokens: 50,
      yield_time_ms: 1000,
    })
    expect((await output(booted, { action: 'inspect', spool_path, tail_lines: 1 })).output).not.toContain('CANARY')
    expect((await booted.read(spool_path))?.slice(-60)).not.toContain('CANARY')
    await output(booted, { action: 'poll', session_id, yield_time_ms: 5000 })
    await booted.kernel.close()
    expect((await booted.read(spool_path))?.slice(-60)).toMatch(/line\n\[redacted:api_key\]\*+\n$/)
  })

  it('empties a spool file whose secrets could not be redacted', async () => {
    await using booted = await bootExec()
    await booted.write(
      'slow.py',
      `import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(${JSON.stringify(canary)}, "line\\n" * 200_000, flush=True)\ntime.sleep(600)`,
    )
    const { session_id } = await output(booted, { action: 'run', command: ['python3', 'slow.py'], background: true })
    await booted.write('go', '')
    const unread = async () => (await output(booted, { action: 'list' })).sessions[0].unread_bytes
    expect(await eventually(async () => (await unread()) === canary.length + 1_000_002)).toBe(true)
    // No answer has named the file yet, so it is not redacted.
    expect(readFileSync(spooled(booted.root)[0]!, 'utf8')).toContain(canary)
    renameSync(spooled(booted.root)[0]!, join(booted.root, 'moved'))
    // The output cannot be read any more; the session closes all the same.
    await call(booted, { action: 'close', session_id })
    await booted.kernel.close()
    expect(readFileSync(join(booted.root, 'moved'), 'utf8')).not.toContain(canary)
  })
})
