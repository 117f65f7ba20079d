import { pathToFileURL } from 'node:url'
import type { Mode } from '../shapes/index.js'
import { environment, programFile, signalGroup, start } from '../system/index.js'
import { loadCode } from '../documents/index.js'
import { compilerFor } from '../trust/index.js'

/** The argument of a settings file that exports a function. */
export interface EvaluationInput {
  cwd: string
  env: Record<string, string | undefined>
  mode?: Mode
}

/** The default export of a TypeScript or JavaScript settings file, called when it is a function. Runs the file in this program. */
export async function evaluate(file: string, circumstances: EvaluationInput, alone?: true): Promise<unknown> {
  const jiti = await compilerFor(file, { ...(alone && { alone }) }, { interopDefault: false })
  const module = (await loadCode(file, async (text) =>
    jiti.evalModule(text, { filename: file, async: true, forceTranspile: true }),
  )) as object
  if (!('default' in module)) throw new Error('it has no default export')
  const value = module.default
  return typeof value === 'function' ? value(circumstances) : value
}

const script = `
const [module, file, circumstances] = process.argv.slice(1)
const { evaluate } = await import(module)
try {
  process.send({ value: JSON.stringify(await evaluate(file, JSON.parse(circumstances), true)) }, () => process.exit())
} catch (error) {
  process.send({ error: String(error?.message ?? error) }, () => process.exit())
}`

/** The same in a process of its own with a clean environment; the process and its children are ended after `limit` milliseconds. */
export async function evaluateAside(
  file: string,
  { cwd, env, mode }: EvaluationInput,
  limit: number,
): Promise<unknown> {
  const clean = { ...environment(env), VTCODE_WORKSPACE: cwd }
  const args = [
    '--input-type=module',
    '-e',
    script,
    pathToFileURL(programFile('core/config/evaluate.js')).href,
    file,
    JSON.stringify({ cwd, env: clean, mode }),
  ]
  const child = start({ file: process.execPath, args, cwd, env: clean }, ['ignore', 'ignore', 'ignore', 'ipc'], 'brief')
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
