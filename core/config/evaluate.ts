import { pathToFileURL } from 'node:url'
import type { Mode } from '../shapes/index.js'
import { createChildEnvironment, programFile, signalGroup, spawnProgram } from '../system/index.js'
import { loadCode } from '../documents/index.js'
import { createCompiler } from '../trust/index.js'

/** Argument of a settings file that exports a function. */
export interface EvaluationInput {
  cwd: string
  env: Record<string, string | undefined>
  mode?: Mode
}

/**
 * Evaluates a settings file in TypeScript or JavaScript in this program, and returns its default export, called if it
 * is a function. `bytes` is its content if it was opened before.
 */
export async function evaluate(
  file: string,
  input: EvaluationInput,
  { alone, bytes }: { alone?: true; bytes?: Buffer } = {},
): Promise<unknown> {
  const jiti = await createCompiler(file, { ...(alone && { alone }) }, { interopDefault: false })
  const module = (await jiti.evalModule(await loadCode(file, bytes), {
    filename: file,
    async: true,
    forceTranspile: true,
  })) as object
  // A CommonJS file exports the settings themselves.
  if (!('default' in module) && !file.endsWith('.cjs')) throw new Error('it has no default export')
  const value = 'default' in module ? module.default : module
  return typeof value === 'function' ? value(input) : value
}

const CHILD_SCRIPT = `
const [module, file, input] = process.argv.slice(1)
const { evaluate } = await import(module)
try {
  const value = await evaluate(file, JSON.parse(input), { alone: true })
  process.send({ value: JSON.stringify(value) }, () => process.exit())
} catch (error) {
  process.send({ error: String(error?.message ?? error) }, () => process.exit())
}`

/**
 * Evaluates a settings file in a child process with a clean environment; the process and its children end after `limit`
 * milliseconds.
 */
export async function evaluateInChild(
  file: string,
  { cwd, env, mode }: EvaluationInput,
  limit: number,
): Promise<unknown> {
  const clean = { ...createChildEnvironment(env), VTCODE_WORKSPACE: cwd }
  const args = [
    '--input-type=module',
    '-e',
    CHILD_SCRIPT,
    pathToFileURL(programFile('core/config/evaluate.js')).href,
    file,
    JSON.stringify({ cwd, env: clean, mode }),
  ]
  const child = spawnProgram(
    { file: process.execPath, args, cwd, env: clean },
    ['ignore', 'ignore', 'ignore', 'ipc'],
    'brief',
  )
  try {
    const answer = await new Promise<{ value?: string; error?: string }>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`it did not finish within ${limit / 1000} s.`)), limit)
      child.once('message', (message) => resolve(message as { value?: string; error?: string }))
      child.once('error', reject)
      child.once('exit', () => reject(new Error('it ended its process.')))
      child.once('close', () => clearTimeout(timer))
    })
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer.value === undefined ? undefined : JSON.parse(answer.value)
  } finally {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
  }
}
