import { programFile, type Io, type Kernel } from '../../../core/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'

/** Size of a list of tools that costs a model too much, in bytes. */
const LONG_LIST_BYTES = 48 * 1024
const REVISIONS = ['2025-11-25', '2026-07-28'] as const

/**
 * Runs `vtcode mcp --doctor`: starts the server as a client does, tests both revisions of the protocol, and reports.
 * The test makes one call, to `unified_search agent`. Returns exit code 1 when a test fails.
 */
export async function runDoctor(kernel: Kernel, io: Io): Promise<number> {
  const { Client } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  let failed = false
  for (const revision of REVISIONS) {
    const began = performance.now()
    const client = new Client(
      { name: 'vtcode-doctor', version: '1' },
      { versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : { pin: revision } } },
    )
    const env = Object.fromEntries(
      Object.entries(io.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [programFile('core/bin.cjs'), '--workspace', kernel.workspace, 'mcp'],
      env,
      stderr: 'pipe',
    })
    let stderr = ''
    transport.stderr?.on('data', (chunk: Buffer) => (stderr = (stderr + chunk).slice(-2_000)))
    try {
      await client.connect(transport, { signal: io.signal, timeout: 30_000 })
      const ready = Math.round(performance.now() - began)
      const { tools } = await client.listTools()
      const [{ resources }, { prompts }] = await Promise.all([client.listResources(), client.listPrompts()])
      const answer = await client.callTool({ name: 'unified_search', arguments: { action: 'agent' } })
      if (answer.isError) throw new Error(`unified_search agent: ${JSON.stringify(answer.content).slice(0, 300)}`)
      const bytes = Buffer.byteLength(JSON.stringify(tools))
      if (bytes > LONG_LIST_BYTES)
        say(
          io,
          'info',
          'The list of tools is long, and a model reads it before each step: ' +
            '`vtcode mcp --lean` lists less and finds the rest by search.',
        )
      io.stdout.write(
        `ok      ${revision}  ready in ${ready} ms, ${tools.length} tools in ${(bytes / 1024).toFixed(1)} KiB, ` +
          `${resources.length} resources, ${prompts.length} prompts, one call answered\n`,
      )
    } catch (error) {
      failed = true
      io.stdout.write(`failed  ${revision}  ${toOneLine((error as Error).message)}\n`)
      if (stderr) say(io, 'info', stderr.trim())
    } finally {
      await client.close().catch(() => {})
    }
  }
  return failed ? 1 : 0
}
