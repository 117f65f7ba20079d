import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { asShown, shownIn } from './support/console.js'
import { bin, surroundings } from './support/program.js'

const project = dirname(dirname(dirname(bin)))
const page = readFileSync(join(project, 'README.md'), 'utf8')
const { files, steps } = shownIn(join(project, 'README.md'))

describe('the README', () => {
  let made: TempWorkspace
  let env: Record<string, string>
  beforeAll(async () => {
    made = await tempWorkspace({ '.git/HEAD': '' })
    for (const { file, text } of files) await made.write(file, text)
    const path = join(made.home, 'bin')
    mkdirSync(path)
    writeFileSync(join(path, 'vtcode'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`, { mode: 0o755 })
    mkdirSync(join(made.root, 'node_modules'))
    symlinkSync(project, join(made.root, 'node_modules/vtcode'))
    env = { ...surroundings(made), PATH: `${path}:${dirname(process.execPath)}:${process.env.PATH}` }
  })
  afterAll(() => made[Symbol.asyncDispose]())

  it.each(steps)('shows what really happens: $command', async ({ command, output }) => {
    const child = spawn('sh', ['-c', command], { cwd: made.root, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk) => (said += chunk))
    await new Promise((resolve) => child.on('close', resolve))
    expect(said.trimEnd()).toMatch(asShown(output))
  })

  it('names only files and verbs that exist', async () => {
    for (const [, path] of page.matchAll(/\]\(([^)#:]+)(?:#\w+)?\)/g)) expect(() => readFileSync(join(project, path!)), path).not.toThrow()
    const help = await new Promise<string>((resolve) => {
      let said = ''
      const child = spawn(process.execPath, [bin, 'help'], { cwd: made.root, env })
      child.stdout.on('data', (chunk) => (said += chunk))
      child.on('close', () => resolve(said))
    })
    for (const [, verb] of page.matchAll(/`vtcode (\w+)/g)) expect(help).toMatch(new RegExp(`^  ${verb} `, 'm'))
  })
})

describe.each(['README.md', 'AGENTS.md', 'docs/security.md', 'docs/agent-loop.md', 'core/README.md', 'manifests/README.md', 'test/bench/README.md'])('%s', (name) => {
  const text = readFileSync(join(project, name), 'utf8')
  const from = dirname(join(project, name))

  it('links to files, and to headings that stand there', () => {
    for (const [, path, heading] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = path ? join(from, path) : join(project, name)
      expect(existsSync(file), file).toBe(true)
      if (heading !== undefined) expect(headings(readFileSync(file, 'utf8')), `${path}#${heading}`).toContain(heading)
    }
  })

  it('names files that are there', () => {
    // Rooms are named from the floor that the page is about.
    const floors = ['.', 'core', 'plugins', 'plugins/lib'].map((floor) => join(project, floor)).concat(from)
    for (const [, path] of text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|yaml))`/g)) {
      if (!/^(?:acme|~|\.vtcode)/.test(path!)) expect(floors.some((floor) => existsSync(join(floor, path!))), path).toBe(true)
    }
  })
})

const headings = (text: string): string[] => [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!.toLowerCase().replace(/[^\w\s-]/g, '').replaceAll(' ', '-'))
