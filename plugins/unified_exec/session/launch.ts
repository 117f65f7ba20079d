import { delimiter, isAbsolute, join } from 'node:path'
import { findProgram, isProgram } from '../../../core/system/index.js'
import { problem, type Handle, type VtError } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'

/** A command as it was asked for. */
export interface Command {
  command: string | string[]
  args?: string[]
  shell?: string
  login?: boolean
}

const longest = 128 * 1024

/** What was asked for as a model sees it: the string of a shell, or the words of a program. */
export const commandParts = ({ command, args }: Command): string | string[] =>
  args || Array.isArray(command) ? [command, args ?? []].flat() : command

/** The program and its arguments. Throws VT_INPUT_INVALID, VT_INPUT_TOO_LARGE, VT_EXEC_NOT_FOUND. */
export function programOf(
  command: Command,
  folder: Handle,
  path: string,
  preferred: string,
): { file: string; args: string[] } {
  const wanted = commandParts(command)
  const words = [wanted].flat()
  for (const word of words) {
    if (/\0|\p{Cs}/u.test(word))
      throw invalid("'command' has a NUL character or half of a surrogate pair; no program can be given that.")
  }
  const size = words.reduce((sum, word) => sum + Buffer.byteLength(word), 0)
  if (size > longest) throw problem('VT_INPUT_TOO_LARGE', { size: `${size} bytes long`, limit: `${longest} bytes` })
  const folders = path.split(delimiter)
  if (typeof wanted === 'string') return shellOf(wanted, command, folders, preferred)
  const [name = '', ...args] = wanted
  if (name === '') throw invalid("'command' names no program.")
  return { file: find(name, folders, folder), args }
}

function shellOf(
  text: string,
  { shell, login = false }: Command,
  folders: string[],
  preferred: string,
): { file: string; args: string[] } {
  if (text.trim() === '') throw invalid("'command' is empty.")
  const file = shell ? find(shell, folders) : (locate(preferred, folders) ?? find('sh', folders))
  if (shell === 'pwsh') return { file, args: [...(login ? ['-Login'] : ['-NoProfile']), '-Command', text] }
  return { file, args: [login ? '-lc' : '-c', text] }
}

function find(name: string, folders: string[], folder?: Handle): string {
  const file = locate(name, folders, folder)
  if (file === undefined) throw notFound(name)
  return file
}

function locate(name: string, folders: string[], folder?: Handle): string | undefined {
  if (!name.includes('/')) return findProgram(name, folders)
  return isProgram(isAbsolute(name) || !folder ? name : join(folder.ref, name)) ? name : undefined
}

export const notFound = (name: string): VtError =>
  createSlotError('VT_EXEC_NOT_FOUND', `There is no program '${name.slice(0, 200)}' that can be run.`)

const invalid = (text: string): VtError => problem('VT_INPUT_INVALID', { problem: text })
