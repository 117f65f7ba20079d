import { basename } from 'node:path'
import { programFile } from '../../../core/system/index.js'

/** Entry files of earlier versions that settings of other clients may name. */
const EARLIER_ENTRY_FILES = ['core/bin.cjs', 'core/bin.js']

/** Checks whether a command starts the MCP server of this program as `vtcode setup` registers it with other clients. */
export function isOwnServer(command: unknown, args: unknown): boolean {
  if (typeof command !== 'string' || !Array.isArray(args)) return false
  return basename(command) === 'vtcode'
    ? args.includes('mcp')
    : args.length === 2 && EARLIER_ENTRY_FILES.some((file) => args[0] === programFile(file)) && args[1] === 'mcp'
}
