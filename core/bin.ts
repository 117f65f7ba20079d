#!/usr/bin/env node
import { VtError } from './errors.js'
import { readCommandLine, UsageError } from './flags.js'
import { version } from './version.js'
import { createKernel } from './kernel.js'
import { nearest } from './nearest.js'
import type { Io, Kernel, KernelOptions } from './types.js'

const interrupted = 130
// Verbs that nobody sits in front of start in a mode that goes on without asking; one that only answers cannot change anything.
const modes: Record<string, Pick<KernelOptions, 'mode' | 'default_mode'>> = { mcp: { default_mode: 'auto' }, exec: { default_mode: 'auto' }, ask: { mode: 'plan' } }
const stop = new AbortController()

// One press may reach us twice, from the terminal and from the program that started us; a second one soon after means at once.
const press = { once_ms: 200, again_ms: 1000 }
let pressed = -Infinity
let instead: (() => void) | undefined
process.on('SIGINT', () => {
  const since = performance.now() - pressed
  if (since < press.once_ms) return
  pressed = performance.now()
  if (stop.signal.aborted || since < press.again_ms) process.exit(interrupted)
  if (instead) instead()
  else stop.abort()
})
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
// A reader that went away is the end of the work, not an error.
process.stdout.on('error', () => stop.abort())
process.stderr.on('error', () => {})

const code = await main(process.argv.slice(2)).catch(report)
await flushed()
process.exit(stop.signal.aborted ? interrupted : code)

async function main(argv: string[]): Promise<number> {
  const { options, verb, rest } = readCommandLine(argv)
  if (verb === undefined && rest.includes('--version')) {
    process.stdout.write(`${version}\n`)
    return 0
  }
  // A person who says nothing wants to talk; a program that says nothing is wrong.
  const meant = verb ?? (rest.includes('--help') || rest.includes('-h') ? 'help' : process.stdin.isTTY ? 'chat' : undefined)
  const env = { ...process.env, ...(options.home !== undefined && { HOME: options.home }) }
  const io: Io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, env, signal: stop.signal, interrupts: (handler) => void (instead = handler) }
  const kernel = await createKernel({ ...(meant !== undefined && Object.hasOwn(modes, meant) ? modes[meant] : {}), ...options, env, surface: meant ?? 'help' })
  try {
    const surface = meant === undefined ? undefined : await kernel.surface(meant)
    const code = surface ? await surface(kernel, rest, io) : usage(kernel, verb)
    if (meant !== verb && code === 3) process.stderr.write('See `vtcode help` for what else there is.\n')
    return code
  } finally {
    await kernel.close()
  }
}

function usage(kernel: Kernel, verb = ''): number {
  const verbs = kernel.contributions().flatMap((known) => (known.kind === 'surface' && known.verb ? [known.verb] : []))
  const meant = nearest(verb, verbs)
  const wrong = verb ? `There is no verb '${verb}'${meant ? `, meant: ${meant}` : ''}` : 'Say what to do'
  process.stderr.write(`vtcode: error: ${wrong}; known verbs: ${verbs.sort().join(', ')}.\nSee \`vtcode help\`.\n`)
  return 2
}

/** A wrong command line is exit 2, wrong settings are exit 3; what is left is a fault of ours or of a surface. */
function report(error: unknown): number {
  const { code, message, hint } = error instanceof VtError ? error.problem : { code: '', message: (error as Error).message, hint: '' }
  process.stderr.write(`vtcode: error: ${message}\n`)
  if (error instanceof UsageError) process.stderr.write('See `vtcode help`.\n')
  else if (code) process.stderr.write(`  ${hint}\n`)
  else process.stderr.write(`  This is a fault of the program or of a plugin. ${process.env['VTCODE_DEBUG'] ? (error as Error).stack : 'VTCODE_DEBUG=1 shows where.'}\n`)
  return error instanceof UsageError ? 2 : code.startsWith('VT_CONFIG_') ? 3 : 1
}

/** Resolves when everything written to stdout has been handed on. */
function flushed(): Promise<void> {
  return new Promise((resolve) => (process.stdout.writableLength === 0 || stop.signal.aborted ? resolve() : process.stdout.write('', () => resolve())))
}
