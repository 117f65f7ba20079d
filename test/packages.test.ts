import { execFile } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin } from './support/program.js'

// The eight packages of the card serve: without one of them, its feature fails.

const project = dirname(dirname(dirname(bin)))
const run = promisify(execFile)
let app: TempWorkspace

/** Installed packages that the features need. The program of ast-grep is left out, so only the module can search. */
const installed = ['@ast-grep/napi', '@vscode/ripgrep', 'gray-matter', 'node-pty', 'web-tree-sitter']
const files = {
  'a.ts': 'export function f(): void {}\n',
  'a.toml': 'a = 1\n',
  'hello.yaml':
    'name: hello\ndescription: Says hello.\ninput: { properties: { to: { type: string } } }\nrun: [echo, hello, "{to}"]\n',
  '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: >\n  Use for\n  demos.\n---\nStep one.\n',
}

beforeAll(async () => {
  app = await tempWorkspace(Object.fromEntries(Object.entries(files).map(([name, text]) => [`ws/${name}`, text])))
  const folder = join(app.root, 'node_modules')
  cpSync(join(project, 'dist'), join(folder, 'vtcode/dist'), { recursive: true })
  cpSync(join(project, 'package.json'), join(folder, 'vtcode/package.json'))
  for (const name of installed) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    symlinkSync(join(project, 'node_modules', name), join(folder, name))
  }
  mkdirSync(join(app.root, 'home/.vtcode'), { recursive: true, mode: 0o700 })
  writeFileSync(
    join(app.root, 'home/.vtcode/vtcode.config.yaml'),
    `manifests: [builtin, '${join(app.root, 'ws/hello.yaml')}']\npolicy: { allow: [hello, exec] }\n`,
  )
  chmodSync(join(app.root, 'home/.vtcode/vtcode.config.yaml'), 0o600)
})
afterAll(() => app[Symbol.asyncDispose]())

/** Without the programs of this checkout, which npm adds. */
const searchPath = process.env['PATH']!.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter)

/** Runs the copy of the program; all it prints. */
async function vtcode(...args: string[]): Promise<string> {
  const program = join(app.root, 'node_modules/vtcode/dist/core/bin.cjs')
  const ran = run(process.execPath, [program, ...args], {
    cwd: join(app.root, 'ws'),
    env: { PATH: searchPath, HOME: join(app.root, 'home'), VTCODE_AST_GREP_NO_INSTALL: '1' },
  })
  ran.child.stdin!.end()
  const { stdout, stderr } = await ran.catch((error: { stdout: string; stderr: string }) => error)
  return stdout + stderr
}
const call = (tool: string, input: object) => vtcode('--mode', 'auto', 'call', tool, '--input', JSON.stringify(input))

interface Feature {
  name: string
  /** The place of the package in the copy: a folder of an installed one, a file of a bundled one. */
  place: string
  use: () => Promise<string>
  works: RegExp
}
const bundle = (name: string): string => `vtcode/dist/core/_${name}.cjs`
const features: Feature[] = [
  {
    name: 'tapable',
    place: bundle('tapable'),
    use: () => call('unified_file', { action: 'read', path: 'a.ts' }),
    works: /function f/,
  },
  {
    name: 'cosmiconfig',
    place: bundle('cosmiconfig'),
    use: () => vtcode('config', 'get', 'policy.allow'),
    works: /hello/,
  },
  { name: 'ajv', place: bundle('ajv'), use: () => call('hello', { to: 'you' }), works: /"text":"hello you/ },
  { name: 'execa', place: bundle('execa'), use: () => call('hello', { to: 'you' }), works: /"text":"hello you/ },
  {
    name: '@ast-grep/napi',
    place: '@ast-grep/napi',
    use: () => call('unified_search', { action: 'structural', pattern: 'function $F(): void {}', path: 'a.ts' }),
    works: /"file":"a.ts"/,
  },
  {
    name: 'web-tree-sitter',
    place: 'web-tree-sitter',
    use: () => call('unified_search', { action: 'outline', path: 'a.toml' }),
    works: /key: a:1/,
  },
  {
    name: 'node-pty',
    place: 'node-pty',
    use: () => call('unified_exec', { action: 'run', command: 'printf "%s" here', tty: true }),
    works: /here/,
  },
  {
    name: 'gray-matter',
    place: 'gray-matter',
    use: () => call('load_skill', { name: 'demo' }),
    works: /Step one/,
  },
]

describe('packages of the card', () => {
  it.each(features)('serves a feature by $name, which fails without it', async ({ place, use, works }) => {
    const path = join(app.root, 'node_modules', place)
    expect(await use()).toMatch(works)
    renameSync(path, `${path}.away`)
    try {
      const printed = await use()
      expect(printed).not.toMatch(works)
      expect(printed).toMatch(/error|"ok":false/i)
    } finally {
      renameSync(`${path}.away`, path)
    }
    expect(existsSync(path)).toBe(true)
  })
})
