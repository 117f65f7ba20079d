import { isInside } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import { runServerCommand, SERVER_WORDS } from '../../lib/own_files/index.js'
import { say } from '../../lib/terminal/index.js'
import { HandshakeRecorder } from './handshake_recorder.js'
import type { Front } from './front.js'
import { deleteHandshake, saveHandshake, locateHandshake, type Handshake } from './handshake_cache.js'
import { loadSdk } from './sdk.js'
import { createServer, type PresentationOptions } from './server.js'
import { StdioTransport } from './stdio_transport.js'

const usage = `Usage: vtcode mcp [--dialect each] [--lean] [--structured]
       vtcode mcp --http [PORT] [--host ADDRESS] [--token-file FILE|--no-token]
       vtcode mcp --doctor
       vtcode mcp add|list|remove|test: servers of others

Serves the tools to one MCP client over stdin and stdout, or to several over
HTTP at http://127.0.0.1:PORT/mcp. The mode is auto unless the settings or
--mode say otherwise: edits of the workspace go through, the rest asks the
client's user, or is refused when the client cannot ask.

  --dialect each  one tool per action instead of one per subject
  --lean          list of each tool only what most calls need; search finds
                  the rest, callable directly or through one more tool
  --structured    send the value of each answer with its text, for clients
                  that are programs: most show a model the value instead
  --http          a client sends the token that is printed at the start, or
                  that of --token-file; --no-token needs none, on the
                  loopback address only
  --doctor        start the server as a client does, and report
`

/** Runs `vtcode mcp`: serves the tools to MCP clients. */
export default async function mcp(kernel: Kernel, words: string[], io: Io): Promise<number> {
  if (SERVER_WORDS.has(words[0] ?? '')) return runServerCommand(kernel, words, io)
  const presentation: PresentationOptions = {
    lean: words.includes('--lean'),
    structured: words.includes('--structured'),
  }
  const argv = words.filter((word) => word !== '--lean' && word !== '--structured')
  if (argv.length === 0) return runStdioServer(kernel, presentation, io)
  if (argv.includes('--help')) {
    io.stdout.write(usage)
    return 0
  }
  if (argv[0] === '--doctor') return (await import('./doctor.js')).runDoctor(kernel, io)
  const { readHttpFlags, runHttpServer } = await import('./http.js')
  const flags = readHttpFlags(argv)
  if ('wrong' in flags) {
    say(io, 'error', `${flags.wrong}\n${usage}`)
    return 2
  }
  return runHttpServer(kernel, flags, presentation, io)
}

async function runStdioServer(kernel: Kernel, presentation: PresentationOptions, io: Io): Promise<number> {
  const sdk = loadSdk('stdio')
  const transport = new StdioTransport(io, createHandshakeRecorder(kernel, io.front as Front | undefined))
  const stopped = new Promise<void>((resolve) =>
    io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const session = `mcp-${process.pid}-${Date.now().toString(36)}`
  const handle = sdk.serveStdio(() => createServer(kernel, sdk, { ...presentation, session }), {
    transport,
    onerror: (error) => say(io, 'warning', error.message),
  })
  void kernel.inspection.loadDeferred()
  await Promise.race([stopped, transport.closed])
  await handle.close()
  return 0
}

/** Creates a recorder that saves the handshake only if it depends on watched files alone. */
function createHandshakeRecorder(kernel: Kernel, front: Front | undefined): HandshakeRecorder {
  const location = front?.location ?? locateHandshake(process.argv.slice(2))
  const save = (handshake: Handshake) => {
    const watched = kernel.inspection.watchedFiles()
    const hasOtherContributions = kernel.inspection.contributions().some(({ layer }) => layer !== 'builtin')
    const hasOtherSkills = kernel.inspection.skills().catalogue.some(({ layer }) => layer !== 'builtin')
    if (
      location &&
      !hasOtherContributions &&
      !hasOtherSkills &&
      location.root === kernel.workspace &&
      !isInside(kernel.workspace, kernel.inspection.home)
    )
      saveHandshake(location, watched, handshake)
  }
  return new HandshakeRecorder(front, save, () => location && deleteHandshake(location))
}
