import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bootExec, call } from './exec.js'

// Put together here, so that no scanner takes this file for a leak.
const canary = `sk-${'CANARY'}${'0123456789abcdef'.repeat(2)}`
const token = `ghp_${'Ab0'.repeat(12)}`
const key = ['-----BEGIN OPENSSH PRIVATE KEY-----', ...Array.from({ length: 5 }, () => 'b3BlbnNzaC1rZXktdjEA'.repeat(3)), '-----END OPENSSH PRIVATE KEY-----'].join('\n')

it('a secret that a command prints stands in no result, no record and no spool file', async () => {
  await using booted = await bootExec()
  await booted.write('print.py', `import sys\nprint(${JSON.stringify(canary)})\nfor i in range(200000): print("line", i)\nprint(${JSON.stringify(token)})\nprint(${JSON.stringify(key)}, file=sys.stderr)\nprint("x" * 9_000_000, ${JSON.stringify(canary)})\nprint("end")`)
  const long = await call(booted, { action: 'run', command: ['python3', 'print.py'], max_output_tokens: 50 })
  const short = await call(booted, { action: 'run', command: `echo ${canary}; echo ${token} >&2`, max_output_tokens: 5 })
  await call(booted, { action: 'run', command: ['true'], env: { HARMLESS: canary }, input: token })
  const again = await call(booted, { action: 'inspect', session_id: (long as any).output.session_id, stream: 'stderr' })
  expect(long).toMatchObject({ ok: true, output: { exit_code: 0, truncated: true, spool_path: expect.any(String) } })
  await booted.kernel.close()

  const files = readdirSync(join(booted.root, '.vtcode'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const written = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join('\n')
  expect(written).toContain('line 199999\n')
  for (const text of [written, JSON.stringify([long, short, again])]) {
    for (const secret of [canary, token, 'b3BlbnNzaC1rZXk']) expect(text.includes(secret), secret.slice(0, 6)).toBe(false)
  }
  expect((await booted.read((long as any).output.spool_path))?.length).toBe((long as any).output.stdout_bytes)
})
