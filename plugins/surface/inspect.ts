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

/** Runs `vtcode inspect`: serves a read-only page with live calls, tools, policies, plugins and settings. */
export default async function inspect(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'inspect',
    'Serve a page on this machine that shows live calls, tools and their handlers, decisions of policies, ' +
      'plugins and settings. The page changes nothing.',
    io,
  )
    .argument('[session]', 'show this session first')
    .option('--last', 'show your last session first')
    .addOption(new Option('--all', 'all sessions of the workspace (the default)').conflicts('last'))
    .option('--port <n>', 'port of 127.0.0.1; 0 picks a free one', parsePort, 0)
    .option('--open', 'open the page in the browser')
    .action(
      async (session: string | undefined, flags: InspectFlags) =>
        void (code = await runInspector(kernel, session, flags, io)),
    )
  return runCommand(command, argv, () => code)
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('a port is a number from 0 to 65535.')
  return Number(text)
}

async function runInspector(
  kernel: Kernel,
  named: string | undefined,
  { last, port, open }: InspectFlags,
  io: Io,
): Promise<number> {
  const [agent, { serveInspector }] = await Promise.all([import('../agent/cli/index.js'), import('./inspect/serve.js')])
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const opened: { close?: () => void } = {}
  try {
    const session = last ? await agent.resolveSessionId(workspace, undefined) : named
    if (session !== undefined) await agent.requireSession(workspace, session)
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
        `VT_INSPECT_PORT: Cannot listen on 127.0.0.1:${port}: ${inspector.message}\n` +
          '  Name another port with --port, or omit it for a free one.',
      )
      return 1
    }
    const url = `http://127.0.0.1:${inspector.port}/#${inspector.token}`
    io.stdout.write(`${url}\n`)
    say(
      io,
      'info',
      `Anyone with this address can watch ${toOneLine(kernel.workspace)}; ` +
        `the page ends with ${io.withTerminal ? 'the chat' : 'Ctrl-C'}.`,
    )
    if (open) opened.close = openAddress(kernel, url, io)
    await new Promise<void>((resolve) =>
      io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    inspector.close()
    return 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    opened.close?.()
    workspace.close()
  }
}

/** Opens the address through a private file, because other users can read arguments of a program. */
function openAddress(kernel: Kernel, url: string, io: Io): () => void {
  const folder = join(kernel.inspection.home, 'state')
  makeFolder(folder, 0o700)
  const file = join(folder, `inspect-${randomBytes(8).toString('hex')}.html`)
  writeFileSync(
    file,
    '<!doctype html><meta charset="utf-8"><title>vtcode inspector</title>' +
      `<meta http-equiv="refresh" content="0;url=${url}">\n`,
    { mode: 0o600, flag: 'wx' },
  )
  if (!openInBrowser(pathToFileURL(file).href, { env: io.env, workspace: kernel.workspace }))
    say(io, 'info', 'No browser found; open the address yourself.')
  return () => rmSync(file, { force: true })
}
