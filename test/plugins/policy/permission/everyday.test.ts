import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import type { Config } from 'vtcode'
import { hold, holdForFile } from '../../../support/held.js'

const PROGRAMS = ['npm', 'npx', 'git', 'make', 'cargo', 'go', 'pytest', 'grep', 'find', 'rg', 'node', 'python3']
const files = {
  'package.json': '{ "version": "1.0.0" }',
  'README.md': 'a\n',
  'src/index.ts': 'export const a = 1\n',
  'src/app.ts': '',
  'a.txt': 'a\n',
  'b.txt': 'b\n',
  'docs/a.md': '',
  'test/a.test.ts': '',
  'dist/app.js': '',
  'tsconfig.json': '{}',
  'log.txt': '',
  'data.txt': '',
}
const text = readFileSync(new URL('../../../fixtures/everyday_commands.txt', import.meta.url), 'utf8')
const commands = text.split('\n').flatMap((line) => {
  const [, kind, command] = /^(run|rule|ask) +(.+)$/.exec(line) ?? []
  return command === undefined ? [] : { kind, command: command.replaceAll('\\n', '\n') }
})

// Rules hold for programs that are installed, so each one that a row names is, on every machine.
const installed = new Set(commands.flatMap(({ command }) => command.match(/(?<=^|[|;&\n] *)[a-z][\w.-]*/g) ?? []))
const programs = holdForFile(await tempWorkspace({}))
for (const name of installed) writeFileSync(join(programs.root, name), '#!/bin/sh\n', { mode: 0o755 })

async function open(policy: Config['policy'], sandbox: Config['sandbox'] = { mode: 'off' }): Promise<Booted> {
  const env = { PATH: programs.root }
  const made = hold(await bootKernel({ mode: 'auto', files, env, config: { sandbox: sandbox!, policy: policy! } }))
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: made.root })
  return made
}
const judge = async ({ kernel }: Booted, command: string): Promise<string> =>
  (await kernel.explain('unified_exec', { action: 'run', command })).verdict

describe('permission policy for everyday commands', () => {
  it('allows everyday commands that only read, and others by rules on their programs', async () => {
    const plain = await open({})
    const ruled = await open({ allow: PROGRAMS.map((program) => `Bash(${program} *)`) })
    expect(commands.length).toBeGreaterThanOrEqual(300)
    for (const { kind, command } of commands) {
      const verdicts = [await judge(plain, command), await judge(ruled, command)]
      expect([command, ...verdicts]).toEqual([command, kind === 'run' ? 'run' : 'ask', kind === 'ask' ? 'ask' : 'run'])
    }
  })

  it('runs all everyday commands in the sandbox without a question', async () => {
    const made = await open({ sandboxed_commands: 'allow' }, { mode: 'auto' })
    for (const { command } of commands) expect([command, await judge(made, command)]).toEqual([command, 'run'])
  })
})
