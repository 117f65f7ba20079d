import { programFile, type Io, type Kernel } from '../../../core/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'

/** In bytes. */
const LONG_LIST = 48 * 1024
const eras = ['2025-11-25', '2026-07-28'] as const

/**
 * `vtcode mcp --doctor`: starts the server as a client would, speaks to it in both revisions of the protocol, and reports. One call is
 * made, to the tool that tells of the running program. Exit code 1 when anything of it fails.
 */
export async function examine(kernel: Kernel, io: Io): Promise<number> {
  const { Client } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  let failed = false
  for (const era of eras) {
    const began = performance.now()
    const client = new Client(
      { name: 'vtcode-doctor', version: '1' },
      { versionNegotiation: { mode: era === '2025-11-25' ? 'legacy' : { pin: era } } },
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
      if (bytes > LONG_LIST)
        say(
          io,
          'info',
          'That is long for a list which a model reads before each step: `vtcode mcp --lean` shows less and finds the rest by search.',
        )
      io.stdout.write(
        `ok      ${era}  ready in ${ready} ms, ${tools.length} tools in ${(bytes / 1024).toFixed(1)} KiB, ${resources.length} resources, ${prompts.length} prompts, one call answered\n`,
      )
    } catch (error) {
      failed = true
      io.stdout.write(`failed  ${era}  ${toOneLine((error as Error).message)}\n`)
      if (stderr) say(io, 'info', stderr.trim())
    } finally {
      await client.close().catch(() => {})
    }
  }
  return failed ? 1 : 0
}
