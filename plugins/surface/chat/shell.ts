import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, searchPath, start } from '../../../core/system/index.js'
import { say } from '../../lib/terminal/index.js'
import { personsCall } from './persons_calls.js'
import type { Sitting } from './sitting.js'

/** `!command`: runs it for the person, who has agreed to it by typing it; rules that deny hold. Its output goes to no model. */
export async function runShell(face: Sitting, command: string, signal: AbortSignal): Promise<void> {
  const { io, handle } = face
  if (command === '') return say(io, 'error', 'Say what to run: !<command>, such as !git status.')
  const id = `shell:${command}`
  let begun = false
  const onProgress = ({ text }: { text?: string }): void => {
    if (text === undefined) return
    handle.send(begun ? { type: 'live', id, append: text } : { type: 'live', id, block: { kind: 'output', text } })
    begun = true
  }
  const result = await personsCall(
    face,
    'unified_exec',
    { action: 'run', command, yield_time_ms: 0 },
    { mode: 'ask', approve: () => true, signal, onProgress },
  )
  if (begun) handle.send({ type: 'live', id, block: { kind: 'text', text: '' }, done: true })
  if (!result.ok) return say(io, 'error', `${result.error.message} ${result.error.hint}`.trim())
  const { stdout = '', stderr = '', output = '', exit_code } = result.output as Record<string, string | number | null>
  const text = [stdout, stderr, output].filter((one) => typeof one === 'string' && one !== '').join('\n')
  handle.send({ type: 'commit', block: { kind: 'output', text: text === '' ? '(no output)' : text } })
  if (exit_code !== 0)
    handle.send({ type: 'commit', block: { kind: 'note', text: `exit ${exit_code ?? 'by a signal'}` } })
}

/** What is in the editor, changed with the person's own editor. */
export async function editOutside({ io, handle, kernel }: Sitting, text: string): Promise<void> {
  const { env } = io
  const named = (env['VISUAL'] ?? env['EDITOR'] ?? 'vi').trim()
  const [name = 'vi', ...args] = named.split(/\s+/)
  const program = name.includes('/') ? name : findProgram(name, searchPath(env['PATH'], kernel.workspace))
  if (program === undefined)
    return say(io, 'error', `There is no editor '${name}'; say which one in EDITOR, such as EDITOR=nano.`)
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-edit-'))
  const file = join(folder, 'message.md')
  try {
    writeFileSync(file, text, { mode: 0o600 })
    handle.send({ type: 'suspend' })
    const failed = await edited(program, [...args, file], kernel.workspace, env)
    handle.send({ type: 'resume' })
    if (failed === undefined) handle.send({ type: 'input', text: readFileSync(file, 'utf8').replace(/\n+$/, '') })
    else say(io, 'error', `${name} ${failed}; the message stays as it was.`)
  } catch (error) {
    say(io, 'error', `The message cannot be edited there: ${(error as Error).message}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves with what went wrong. */
function edited(
  file: string,
  args: string[],
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = start({ file, args, cwd, env: env as Record<string, string> }, 'inherit', 'shared')
    child.once('error', (error) =>
      resolve(`cannot be started (${(error as NodeJS.ErrnoException).code ?? error.message})`),
    )
    child.once('exit', (code, signal) => resolve(code === 0 ? undefined : `ended by ${signal ?? `exit ${code}`}`))
  })
}
