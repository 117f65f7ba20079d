import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TempWorkspace } from 'vtcode/test'
import { keepCompiledOf, seedCompiled } from './compiled.js'
import { serve, type TestServer } from './server.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
/** The package of ast-grep's program for this machine. */
export const name = `@ast-grep/cli-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
export const { version } = lock[`node_modules/${name}`]

/** This program where npm left the optional dependency out, and the registry that the program asks. */
export interface Bare extends AsyncDisposable {
  readonly bin: string
  readonly registry: TestServer
  /** The next answer of the registry. */
  answer: { status: number; body: Buffer; headers?: Record<string, string> }
  /** The real package, from npm's cache where npm has it. */
  readonly real: Buffer
  run(args: string[], env?: Record<string, string>): Promise<{ code: number; stdout: string; stderr: string }>
  /** A search that needs the program. */
  search(env?: Record<string, string>): Promise<any>
}

/** Builds the program in a workspace with a file `a.py` that contains `log(1)`. */
export async function bareProgram(place: TempWorkspace): Promise<Bare> {
  const [packed] = JSON.parse(
    execFileSync(
      'npm',
      ['pack', '--prefer-offline', '--silent', '--json', '--pack-destination', place.home, `${name}@${version}`],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    ),
  )
  const real = readFileSync(join(place.home, packed.filename))
  const folder = join(place.home, 'bare')
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  mkdirSync(join(folder, 'node_modules/@ast-grep'), { recursive: true })
  for (const entry of readdirSync(join(root, 'node_modules'))) {
    if (entry !== '@ast-grep' && !entry.startsWith('.'))
      symlinkSync(join(root, 'node_modules', entry), join(folder, 'node_modules', entry))
  }
  const bare: Bare = {
    bin: join(folder, 'dist/core/bin.cjs'),
    registry: await serve((_, response) =>
      response.writeHead(bare.answer.status, bare.answer.headers).end(bare.answer.body),
    ),
    answer: { status: 200, body: real },
    real,
    run(args, env = {}) {
      const environment = {
        PATH: dirname(process.execPath),
        HOME: place.home,
        npm_config_registry: `${bare.registry.url}/`,
        ...env,
      }
      seedCompiled(args, environment)
      const child = spawn(process.execPath, [bare.bin, ...args], {
        cwd: place.root,
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const out = { stdout: '', stderr: '' }
      child.stdout.on('data', (chunk) => (out.stdout += chunk))
      child.stderr.on('data', (chunk) => (out.stderr += chunk))
      return new Promise((resolve) =>
        child.once('close', (code) => (keepCompiledOf(args, environment), resolve({ code: code ?? -1, ...out }))),
      )
    },
    search: async (env) =>
      JSON.parse(
        (await bare.run(['call', 'unified_search', 'structural', '--pattern', 'log($A)', '--path', 'a.py'], env))
          .stdout,
      ),
    [Symbol.asyncDispose]: () => bare.registry[Symbol.asyncDispose](),
  }
  return bare
}
