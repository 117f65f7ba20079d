import type { Io, Kernel } from '../../../core/index.js'
import { say } from '../../shared/terminal.js'
import { loadSdk } from './sdk.js'
import { createServer } from './server.js'
import { Wire } from './wire.js'

const usage = `Usage: vtcode mcp [--workspace DIR] [--mode plan|ask|auto|full-auto]

Serves the tools to one MCP client over stdin and stdout. The mode is auto unless the settings or the flag say otherwise:
edits of the workspace go through, the rest asks the client's user, or is refused when the client cannot ask.
`

/** `vtcode mcp`: the tools for an MCP client, over stdio. */
export default async function mcp(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  if (argv.length > 0) {
    const helpful = argv.includes('--help')
    if (helpful) io.stdout.write(usage)
    else say(io, 'error', `Unknown word '${argv[0]}'.\n${usage}`)
    return helpful ? 0 : 2
  }
  const sdk = loadSdk()
  const wire = new Wire(io)
  const over = new Promise<void>((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
  const session = `mcp-${process.pid}-${Date.now().toString(36)}`
  const handle = sdk.serveStdio(() => createServer(kernel, sdk, session), {
    transport: wire,
    onerror: (error) => say(io, 'warning', error.message),
  })
  await Promise.race([over, wire.closed])
  await handle.close()
  return 0
}
