import { existsSync } from 'node:fs'
import { importProgramModule, programFile } from './system/index.js'
import { useCompiled } from './cli/index.js'

/** Runs the front of the verb, if it has one, before everything else is loaded. */
async function start(): Promise<void> {
  // A person without a verb gets the chat.
  const verb = process.argv[2] ?? (process.stdin.isTTY ? 'chat' : '')
  // The front of a server is small. It sets flags of V8, under which code that was compiled under other flags is not
  // reused.
  const isServer = verb === 'mcp'
  if (!isServer) useCompiled(process.argv.slice(2))
  const place = /^[a-z]+$/.test(verb) ? programFile(`plugins/surface/${verb}/front.cjs`) : ''
  const { default: front } = existsSync(place)
    ? ((await importProgramModule(place)) as { default: () => Promise<unknown> })
    : {}
  const frontResult = await front?.()
  if (isServer) useCompiled(process.argv.slice(2))
  const { startProgram } = await import('./main.js')
  await startProgram(frontResult)
}

void start()
