import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from './support/exec.js'
import { bin } from './support/program.js'

// Installs the packed program with each package manager and uses it. Needs the network, so only soak runs do it.

const project = dirname(dirname(dirname(bin)))
const run = promisify(execFile)

const searchPath = process.env['PATH']!.split(delimiter).filter((path) => !path.includes('node_modules'))

interface Manager {
  /** Name in the table of docs/platforms.md. */
  name: string
  /** The package that has the program; npm is there already. */
  package?: string
  install: (tarball: string) => string[]
  files?: Record<string, string>
  /** Words before the arguments of the program. */
  start?: string[]
  /** What is missing. */
  fails?: 'programs' | 'terminal'
}
const yarn = (linker: string): Manager => ({
  name: `yarn 4, \`nodeLinker: ${linker}\``,
  package: '@yarnpkg/cli-dist@4',
  install: (tarball) => ['yarn', 'add', `vtcode@file:${tarball}`],
  files: { 'yarn.lock': '', '.yarnrc.yml': `nodeLinker: ${linker}\nenableTelemetry: false\n` },
  start: ['yarn', 'vtcode'],
})
const managers: Manager[] = [
  { name: 'npm', install: (tarball) => ['npm', 'install', tarball] },
  { name: '`npm --ignore-scripts`', install: (tarball) => ['npm', 'install', '--ignore-scripts', tarball] },
  {
    name: '`npm --omit=optional`',
    install: (tarball) => ['npm', 'install', '--omit=optional', tarball],
    fails: 'programs',
  },
  { name: 'pnpm 10', package: 'pnpm@10', install: (tarball) => ['pnpm', 'add', tarball] },
  yarn('node-modules'),
  yarn('pnp'),
  { name: '`bun add`', package: 'bun@1', install: (tarball) => ['bun', 'add', tarball] },
  {
    name: '`bun --bun`',
    package: 'bun@1',
    install: (tarball) => ['bun', 'add', tarball],
    start: ['bun', '--bun', 'node_modules/vtcode/dist/core/bin.cjs'],
    fails: 'terminal',
  },
]

describe('package managers', () => {
  let folder: string
  let tarball: string
  beforeAll(async () => {
    // The name has a blank.
    folder = mkdtempSync(join(tmpdir(), 'vtcode managers-'))
    if (rounds(0, 1) === 0) return
    await run('npm', ['pack', '--pack-destination', folder], { cwd: project })
    tarball = join(folder, 'vtcode-0.1.0.tgz')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('finds a row for each in the page on platforms', () => {
    const page = readFileSync(join(project, 'docs/platforms.md'), 'utf8')
    expect(managers.filter(({ name }) => !page.includes(`| ${name} |`)).map(({ name }) => name)).toEqual([])
  })

  for (const { name, package: own, install, files = {}, start, fails } of rounds<Manager[]>([], managers))
    it(`installs and runs with ${name}`, { timeout: 300_000 }, async () => {
      const app = join(folder, name.replace(/\W+/g, ' '))
      const tools = join(app, 'tools')
      mkdirSync(tools, { recursive: true })
      const env = {
        // Certificates and proxies of this machine; not the programs of this checkout.
        ...process.env,
        PATH: [join(tools, 'node_modules/.bin'), ...searchPath].join(delimiter),
        HOME: folder,
        VTCODE_AST_GREP_NO_INSTALL: '1',
      }
      const of = async ([file, ...args]: string[], cwd: string): Promise<string> => {
        const ran = await run(file!, args, { cwd, env }).catch((error: { stdout: string; stderr: string }) => error)
        return ran.stdout + ran.stderr
      }
      if (own) await run('npm', ['install', '--prefix', tools, '--no-save', own], { env })
      const work = join(app, 'work')
      mkdirSync(work)
      const sources = { 'package.json': '{ "name": "x" }', 'a.py': 'def f():\n    pass\n', 'a.toml': 'a = 1\n' }
      for (const [path, text] of Object.entries({ ...sources, ...files })) writeFileSync(join(work, path), text)
      await of(install(tarball), work)
      const call = (tool: string, input: object) =>
        of(
          [
            ...(start ?? ['node_modules/.bin/vtcode']),
            ...['--mode', 'auto', '-c', 'policy.allow=["exec"]', 'call', tool, '--input', JSON.stringify(input)],
          ],
          work,
        )
      const found = await call('unified_search', { action: 'structural', kind: 'function_definition', path: 'a.py' })
      expect(found).toMatch(fails === 'programs' ? 'The program ast-grep is not installed' : /"file":"a.py"/)
      expect(await call('unified_search', { action: 'outline', path: 'a.toml' })).toMatch('key: a:1')
      expect(await call('unified_search', { action: 'grep', pattern: 'def', path: '.' })).toMatch(/"file":"a.py"/)
      const typed = await call('unified_exec', { action: 'run', command: 'printf "%s" here', tty: true })
      expect(typed).toMatch(fails ? 'VT_EXEC_PTY' : /"output":"here"/)
    })
})
