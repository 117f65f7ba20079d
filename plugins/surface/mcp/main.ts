import type { Io, Kernel } from '../../../core/index.js'
import { say } from '../../lib/terminal/index.js'
import { loadSdk } from './sdk.js'
import { createServer } from './server.js'
import { Wire } from './wire.js'

const usage = `Usage: vtcode mcp [--workspace DIR] [--mode plan|ask|auto|full-auto] [--dialect each] [--lean]
       vtcode mcp --doctor
       vtcode mcp --http [PORT] [--host ADDRESS] [--token-file FILE | --no-token] [--lean]

Serves the tools to one MCP client over stdin and stdout, or to several over HTTP at http://127.0.0.1:PORT/mcp. The mode is
auto unless the settings or the flag say otherwise: edits of the workspace go through, the rest asks the client's user, or is
refused when the client cannot ask. Over HTTP a client shows the token that is printed at the start, or that of the file;
--no-token does without one, on the loopback address only. --dialect each lists one tool per action instead of one per subject.
--lean lists of each tool what most calls need; the rest is found by search, and called as it is or through one more tool.
--doctor starts the server as a client would, and reports.
`

/** `vtcode mcp`: the tools for MCP clients. */
export default async function mcp(kernel: Kernel, words: string[], io: Io): Promise<number> {
  const argv = words.filter((word) => word !== '--lean')
  const lean = argv.length < words.length
  if (argv.length === 0) return overStdio(kernel, lean, io)
  if (argv.includes('--help')) {
    io.stdout.write(usage)
    return 0
  }
  if (argv[0] === '--doctor') return (await import('./doctor.js')).examine(kernel, io)
  const { readHttpFlags, overHttp } = await import('./http.js')
  const flags = readHttpFlags(argv)
  if ('wrong' in flags) {
    say(io, 'error', `${flags.wrong}\n${usage}`)
    return 2
  }
  return overHttp(kernel, { ...flags, lean }, io)
}

async function overStdio(kernel: Kernel, lean: boolean, io: Io): Promise<number> {
  const sdk = loadSdk('stdio')
  const wire = new Wire(io)
  const over = new Promise<void>((resolve) => (io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true })))
  const session = `mcp-${process.pid}-${Date.now().toString(36)}`
  const handle = sdk.serveStdio(() => createServer(kernel, sdk, { session, lean }), {
    transport: wire,
    onerror: (error) => say(io, 'warning', error.message),
  })
  void kernel.settle()
  await Promise.race([over, wire.closed])
  await handle.close()
  return 0
}
