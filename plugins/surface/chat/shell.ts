import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanSearchPath, findProgram, listSearchFolders, spawnProgram } from '../../../core/system/index.js'
import { say } from '../../lib/terminal/index.js'
import { callAsUser } from './call_as_user.js'
import type { ChatSession } from './chat_session.js'

/** `!command`: runs a command of the person without asking; deny rules apply. No model sees the output. */
export async function runShellCommand(chat: ChatSession, command: string, signal: AbortSignal): Promise<void> {
  const { io, handle } = chat
  if (command === '') return say(io, 'error', 'No command after `!`. Type, for example, !git status.')
  const id = `shell:${command}`
  let begun = false
  const onProgress = ({ text }: { text?: string }): void => {
    if (text === undefined) return
    handle.send(begun ? { type: 'live', id, append: text } : { type: 'live', id, block: { kind: 'output', text } })
    begun = true
  }
  const result = await callAsUser(
    chat,
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
    handle.send({
      type: 'commit',
      block: { kind: 'note', text: typeof exit_code === 'number' ? `exit ${exit_code}` : 'ended by a signal' },
    })
}

/** Opens the text of the message in the person's own editor. */
export async function openExternalEditor({ io, handle, kernel }: ChatSession, text: string): Promise<void> {
  const { env } = io
  const named = (env['VISUAL'] ?? env['EDITOR'] ?? 'vi').trim()
  const [name = 'vi', ...args] = named.split(/\s+/)
  const program = name.includes('/') ? name : findProgram(name, listSearchFolders(env['PATH'], kernel.workspace))
  if (program === undefined) return say(io, 'error', `Editor '${name}' not found. Set EDITOR, for example EDITOR=nano.`)
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-edit-'))
  const file = join(folder, 'message.md')
  try {
    writeFileSync(file, text, { mode: 0o600 })
    handle.send({ type: 'suspend' })
    const clean = { ...env, PATH: cleanSearchPath(env['PATH'] ?? '') }
    const failed = await runEditor(program, [...args, file], kernel.workspace, clean)
    handle.send({ type: 'resume' })
    if (failed === undefined) handle.send({ type: 'input', text: readFileSync(file, 'utf8').replace(/\n+$/, '') })
    else say(io, 'error', `${name} ${failed}; the message is unchanged.`)
  } catch (error) {
    say(io, 'error', `The editor cannot open the message: ${(error as Error).message}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves with an error message, or `undefined`. */
function runEditor(
  file: string,
  args: string[],
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawnProgram({ file, args, cwd, env: env as Record<string, string> }, 'inherit', 'shared')
    child.once('error', (error) =>
      resolve(`cannot be started (${(error as NodeJS.ErrnoException).code ?? error.message})`),
    )
    child.once('exit', (code, signal) => resolve(code === 0 ? undefined : `ended by ${signal ?? `exit ${code}`}`))
  })
}
