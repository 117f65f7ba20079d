import { inside } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import { say } from '../../lib/terminal/index.js'
import { BeginningWatch } from './beginning.js'
import type { Front } from './front.js'
import { forgetBeginning, keepBeginning, placeOf, type Beginning } from './prepared.js'
import { loadSdk } from './sdk.js'
import { createServer, type Showing } from './server.js'
import { Wire } from './wire.js'

const usage = `Usage: vtcode mcp [--dialect each] [--lean] [--structured]
       vtcode mcp --http [PORT] [--host ADDRESS] [--token-file FILE|--no-token]
       vtcode mcp --doctor

Serves the tools to one MCP client over stdin and stdout, or to several over
HTTP at http://127.0.0.1:PORT/mcp. The mode is auto unless the settings or
--mode say otherwise: edits of the workspace go through, the rest asks the
client's user, or is refused when the client cannot ask.

  --dialect each  one tool per action instead of one per subject
  --lean          of each tool what most calls need; the rest is found by
                  search, and called as it is or through one more tool
  --structured    the value of each answer beside its text, for clients that
                  are programs: most show a model the value instead
  --http          a client shows the token that is printed at the start, or
                  that of --token-file; --no-token does without one, on the
                  loopback address only
  --doctor        starts the server as a client would, and reports
`

/** `vtcode mcp`: the tools for MCP clients. */
export default async function mcp(kernel: Kernel, words: string[], io: Io): Promise<number> {
  const showing: Showing = { lean: words.includes('--lean'), structured: words.includes('--structured') }
  const argv = words.filter((word) => word !== '--lean' && word !== '--structured')
  if (argv.length === 0) return overStdio(kernel, showing, io)
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
  return overHttp(kernel, flags, showing, io)
}

async function overStdio(kernel: Kernel, showing: Showing, io: Io): Promise<number> {
  const sdk = loadSdk('stdio')
  const wire = new Wire(io, watchBeginning(kernel, io.front as Front | undefined))
  const over = new Promise<void>((resolve) =>
    io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const session = `mcp-${process.pid}-${Date.now().toString(36)}`
  const handle = sdk.serveStdio(() => createServer(kernel, sdk, { ...showing, session }), {
    transport: wire,
    onerror: (error) => say(io, 'warning', error.message),
  })
  void kernel.inspection.loadDeferred()
  await Promise.race([over, wire.closed])
  await handle.close()
  return 0
}

/** Keeps how the conversation begins for the next start, where it depends on nothing but what is watched. */
function watchBeginning(kernel: Kernel, front: Front | undefined): BeginningWatch {
  const place = front?.place ?? placeOf(process.argv.slice(2))
  const keep = (beginning: Beginning) => {
    const watched = kernel.inspection.watchedFiles()
    const strangers = kernel.inspection.contributions().some(({ layer }) => layer !== 'builtin')
    const foreign = kernel.inspection.skills().catalogue.some(({ layer }) => layer !== 'builtin')
    if (
      place &&
      !strangers &&
      !foreign &&
      place.root === kernel.workspace &&
      !inside(kernel.workspace, kernel.inspection.home)
    )
      keepBeginning(place, watched, beginning)
  }
  return new BeginningWatch(front, keep, () => place && forgetBeginning(place))
}
