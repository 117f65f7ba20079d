import { basename } from 'node:path'
import { programFile } from '../../../core/system/index.js'

/** Settings of other clients may name the module with which the program began before. */
const EARLIER_ENTRY_FILES = ['core/bin.cjs', 'core/bin.js']

/** Whether a command starts the MCP server of this very program, in the words that `vtcode setup` enters for other clients. */
export function isOwnServer(command: unknown, args: unknown): boolean {
  if (typeof command !== 'string' || !Array.isArray(args)) return false
  return basename(command) === 'vtcode'
    ? args.includes('mcp')
    : args.length === 2 && EARLIER_ENTRY_FILES.some((file) => args[0] === programFile(file)) && args[1] === 'mcp'
}
