import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidArgumentError, Option } from 'commander'
import { makeFolder } from '../../core/system/index.js'
import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { openInBrowser } from '../lib/net/index.js'
import { toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'

interface InspectFlags {
  last?: true
  all?: true
  port: number
  open?: true
}

/** `vtcode inspect`: a page of this workspace that shows what happens, who serves what, and what the policies say. It changes nothing. */
export default async function inspect(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'inspect',
    'Serves a page on this machine: calls as they come, tools and who serves them, what the policies say of a call, plugins, settings. It changes nothing.',
    io,
  )
    .argument('[session]', 'show this one first')
    .option('--last', 'show your last session first')
    .addOption(new Option('--all', 'all sessions of the workspace (the default)').conflicts('last'))
    .option('--port <n>', 'of 127.0.0.1; 0 takes a free one', portNumber, 0)
    .option('--open', 'open it in the browser')
    .action(
      async (session: string | undefined, flags: InspectFlags) => void (code = await serve(kernel, session, flags, io)),
    )
  return runCommand(command, argv, () => code)
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('a port is a number from 0 to 65535.')
  return Number(text)
}

async function serve(
  kernel: Kernel,
  named: string | undefined,
  { last, port, open }: InspectFlags,
  io: Io,
): Promise<number> {
  const [agent, { serveInspector }] = await Promise.all([import('../agent/cli/index.js'), import('./inspect/serve.js')])
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const shown: { close?: () => void } = {}
  try {
    const session = last ? await agent.sessionMeant(workspace, undefined) : named
    if (session !== undefined) await agent.sessionExists(workspace, session)
    const inspector = await serveInspector({
      kernel,
      workspace,
      agent,
      port,
      io,
      ...(session !== undefined && { session }),
    }).catch((error: NodeJS.ErrnoException) => error)
    if (inspector instanceof Error) {
      say(
        io,
        'error',
        `VT_INSPECT_PORT: 127.0.0.1:${port} cannot be listened on: ${inspector.message}\n  Name another with --port, or leave it out for a free one.`,
      )
      return 1
    }
    const url = `http://127.0.0.1:${inspector.port}/#${inspector.token}`
    io.stdout.write(`${url}\n`)
    say(
      io,
      'info',
      `Whoever has this address sees what happens in ${toOneLine(kernel.workspace)}; it ends with ${io.alone ? 'the chat' : 'Ctrl-C'}.`,
    )
    if (open) shown.close = openHidden(kernel, url, io)
    await new Promise<void>((resolve) =>
      io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    inspector.close()
    return 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    shown.close?.()
    workspace.close()
  }
}

/** Opens the address by a file that is the user's alone: what a program is started with, everybody on the machine can read. */
function openHidden(kernel: Kernel, url: string, io: Io): () => void {
  const folder = join(kernel.inspection.home, 'state')
  makeFolder(folder, 0o700)
  const file = join(folder, `inspect-${randomBytes(8).toString('hex')}.html`)
  writeFileSync(
    file,
    `<!doctype html><meta charset="utf-8"><title>vtcode inspector</title><meta http-equiv="refresh" content="0;url=${url}">\n`,
    { mode: 0o600, flag: 'wx' },
  )
  if (!openInBrowser(pathToFileURL(file).href, { env: io.env, workspace: kernel.workspace }))
    say(io, 'info', 'No browser was found; open the address yourself.')
  return () => rmSync(file, { force: true })
}
