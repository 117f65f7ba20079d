import { delimiter, isAbsolute, join } from 'node:path'
import { findProgram, isProgram } from '../../../core/system/index.js'
import { problem, type Handle, type VtError } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'

/** A requested command. */
export interface Command {
  command: string | string[]
  args?: string[]
  shell?: string
  login?: boolean
}

const MAX_COMMAND_BYTES = 128 * 1024

/** Returns the request as a model sees it: the string for a shell, or the words of a program. */
export const toCommandParts = ({ command, args }: Command): string | string[] =>
  args || Array.isArray(command) ? [command, args ?? []].flat() : command

/** Resolves the program and its arguments. Throws VT_INPUT_INVALID, VT_INPUT_TOO_LARGE, VT_EXEC_NOT_FOUND. */
export function resolveProgram(
  command: Command,
  folder: Handle,
  path: string,
  preferred: string,
): { file: string; args: string[] } {
  const wanted = toCommandParts(command)
  const words = [wanted].flat()
  for (const word of words) {
    if (/\0|\p{Cs}/u.test(word))
      throw createInputError("'command' has a NUL character or half of a surrogate pair, which no program accepts.")
  }
  const size = words.reduce((sum, word) => sum + Buffer.byteLength(word), 0)
  if (size > MAX_COMMAND_BYTES)
    throw problem('VT_INPUT_TOO_LARGE', { size: `${size} bytes long`, limit: `${MAX_COMMAND_BYTES} bytes` })
  const folders = path.split(delimiter)
  if (typeof wanted === 'string') return resolveShell(wanted, command, folders, preferred)
  const [name = '', ...args] = wanted
  if (name === '') throw createInputError("'command' names no program.")
  return { file: requireExecutable(name, folders, folder), args }
}

function resolveShell(
  text: string,
  { shell, login = false }: Command,
  folders: string[],
  preferred: string,
): { file: string; args: string[] } {
  if (text.trim() === '') throw createInputError("'command' is empty.")
  const file = shell
    ? requireExecutable(shell, folders)
    : (findExecutable(preferred, folders) ?? requireExecutable('sh', folders))
  if (shell === 'pwsh') return { file, args: [...(login ? ['-Login'] : ['-NoProfile']), '-Command', text] }
  return { file, args: [login ? '-lc' : '-c', text] }
}

function requireExecutable(name: string, folders: string[], folder?: Handle): string {
  const file = findExecutable(name, folders, folder)
  if (file === undefined) throw createNotFoundError(name)
  return file
}

function findExecutable(name: string, folders: string[], folder?: Handle): string | undefined {
  if (!name.includes('/')) return findProgram(name, folders)
  return isProgram(isAbsolute(name) || !folder ? name : join(folder.ref, name)) ? name : undefined
}

export const createNotFoundError = (name: string): VtError =>
  createSlotError('VT_EXEC_NOT_FOUND', `Program not found or not executable: '${name.slice(0, 200)}'.`)

const createInputError = (text: string): VtError => problem('VT_INPUT_INVALID', { problem: text })
