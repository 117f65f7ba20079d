import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootExec, call, lacks } from '../../support/exec.js'
import { hold } from '../../support/held.js'

const files = { 'a.txt': 'one\n', 'b.txt': 'two\n' }
const codesOf = (result: { notices?: readonly { code: string }[] }) => (result.notices ?? []).map(({ code }) => code)

it('redacts secrets in its record of a command', async () => {
  const booted = hold(await bootExec({ files, env: { DEMO_API_KEY: 'kept-out-of-files-4711' } }))
  const changed = await call(booted, { action: 'run', command: 'echo kept-out-of-files-4711 > a.txt; rm b.txt' })
  expect(codesOf(changed)).toContain('VT_EXEC_CHANGED')
  const records = join(booted.home, '.vtcode/checkpoints')
  const texts = readdirSync(records, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFileSync(join(records, name), 'utf8'))
  expect(texts.join('\n')).toMatch(/"command":"echo \[redacted[^"]*rm b\.txt"/)
  expect(texts.join('\n')).not.toContain('4711')
})

describe.skipIf(lacks('git'))('checkpoint of a command', () => {
  const boot = async () => {
    const booted = hold(await bootExec({ files, config: { policy: { allow: ['Bash'] } } }))
    execFileSync('git', ['init', '-q'], { cwd: booted.root })
    return booted
  }

  it.each(['git log -1 > a.txt', 'cat b.txt > a.txt', 'git status && rm a.txt', 'sed -i s/one/two/ a.txt'])(
    'keeps the files before `%s`, which changes one',
    async (command) => {
      expect(codesOf(await call(await boot(), { action: 'run', command }))).toContain('VT_EXEC_CHANGED')
    },
  )

  it('keeps none before commands that only read', async () => {
    const booted = await boot()
    const run = (command: string) => call(booted, { action: 'run', command })
    for (const command of ['cat a.txt | head -1', 'git status', 'ls -la && wc -l a.txt'])
      expect(codesOf(await run(command)), command).toEqual([])
    await run('rm a.txt')
    const listed = await call(booted, { action: 'run', command: 'ls' })
    expect(listed).toMatchObject({ output: { stdout: 'b.txt\n' } })
  })
})
