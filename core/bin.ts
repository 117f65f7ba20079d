import { existsSync } from 'node:fs'
import { importOwn, programFile } from './system/index.js'
import { useCompiled } from './cli/index.js'

/** All that a start may do without is loaded when the front of a verb, if it has one, has had its say. */
async function start(): Promise<void> {
  // A person without a verb gets the chat.
  const verb = process.argv[2] ?? (process.stdin.isTTY ? 'chat' : '')
  // The front of a server is little, and under the flags of V8 that it leaves behind nothing is taken that was compiled under others.
  const isServer = verb === 'mcp'
  if (!isServer) useCompiled(process.argv.slice(2))
  const place = /^[a-z]+$/.test(verb) ? programFile(`plugins/surface/${verb}/front.cjs`) : ''
  const { default: front } = existsSync(place) ? ((await importOwn(place)) as { default: () => Promise<unknown> }) : {}
  const said = await front?.()
  if (isServer) useCompiled(process.argv.slice(2))
  const { startProgram } = await import('./main.js')
  await startProgram(said)
}

void start()
