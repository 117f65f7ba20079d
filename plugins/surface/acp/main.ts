import type { Io, Kernel } from '../../../core/index.js'
import { connectAccount, printFailure } from '../../agent/cli/index.js'
import { say } from '../../lib/terminal/index.js'
import { serveEditor } from './handlers.js'
import { createStdioStream } from './stdio_stream.js'

const usage = `Usage: vtcode acp
       vtcode acp --login

Serves the agent to one editor over stdin and stdout, in the Agent Client
Protocol, version 1. The editor starts this program by itself:
\`vtcode setup zed --agent\` writes its settings.

  --login  sign in to the provider of your model, or show what it needs
`

/** Time for sessions to close after the editor has gone, in milliseconds. */
const CLOSE_TIMEOUT_MS = 4_000

/** Runs `vtcode acp`: serves the agent to an editor. */
export default async function acp(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  if (argv.includes('--help')) {
    io.stdout.write(usage)
    return 0
  }
  if (argv.includes('--login')) return login(kernel, io)
  if (argv.length > 0) {
    say(io, 'error', `Unknown option '${argv[0]!}'.\n${usage}`)
    return 2
  }
  const stream = createStdioStream(io)
  const { connection, sessions } = serveEditor(kernel, io, stream)
  await Promise.race([connection.closed, stream.ended, waitForAbort(io.signal)])
  connection.close()
  await Promise.race([sessions.closeAll(), new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())])
  return 0
}

async function login(kernel: Kernel, io: Io): Promise<number> {
  try {
    await connectAccount(kernel, io, io.signal)
  } catch (error) {
    return printFailure(kernel, error, io)
  }
  io.stderr.write('Signed in.\n')
  return 0
}

const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
