import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'

const INTERPRETERS = /^(?:python[\d.]*|node|deno|bun|sh|bash|zsh|ruby|perl|php|pwsh)$/
/** A path with a slash, and without a character that a shell would replace. */
const PATH = /^[^-$`~*?[\]{}<>|&;()!\\"'=][^$`~*?[\]{}<>|&;()!\\"'=]*$/

/**
 * Returns the script that a command begins with, alone or after an interpreter, if it does not exist. Interpreters
 * report a missing script with exit code 2, which would be a refusal by the hook.
 */
export function findMissingScript(command: string | readonly string[], folder: string): string | undefined {
  const words = typeof command === 'string' ? command.trim().split(/\s+/).map(stripQuotes) : command
  const word = words.length > 1 && INTERPRETERS.test(basename(words[0]!)) ? words[1]! : words[0]!
  return word.includes('/') && PATH.test(word) && !existsSync(resolve(folder, word)) ? word : undefined
}

const stripQuotes = (word: string): string => word.replace(/^(["'])(.*)\1$/, '$2')
