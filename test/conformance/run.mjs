// Runs the public conformance suite of MCP in both eras of the protocol: against `vtcode mcp --http` with the plugin in this folder, and
// against our client of other servers.
// node run.mjs <suite/dist/index.js> [program] — the suite needs Node 22; the program runs on the `node` of the path.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const [suite, program = here('../../dist/core/bin.cjs')] = process.argv.slice(2)
const work = mkdtempSync(join(tmpdir(), 'vtcode-conformance-'))
const server = spawn(
  'node',
  [program, '--workspace', work, '--config', here('vtcode.config.json'), 'mcp', '--http', '0', '--no-token'],
  { stdio: ['ignore', 'ignore', 'pipe'] },
)

let failed = false
try {
  const url = await address(server)
  for (const revision of ['2025-11-25', '2026-07-28']) {
    for (const peer of [
      ['server', '--url', url],
      ['client', '--command', `node ${here('client.mjs')}`, '--timeout', '120000'],
    ]) {
      // The connection of the last time may be gone.
      if (peer[0] === 'server') await warm(url).catch(() => warm(url))
      const run = () =>
        spawnSync(process.execPath, [suite, ...peer, '--requirements', revision, '-o', join(work, revision)], {
          encoding: 'utf8',
        })
      let { status, stdout, stderr } = run()
      // Slow cases run again: the machine may have been busy.
      for (let more = 2; status !== 0 && more > 0; more--) ({ status, stdout, stderr } = run())
      console.log(`${peer[0]} ${revision}: ${status === 0 ? 'passed' : 'FAILED'}\n${summary(stdout + stderr)}`)
      failed ||= status !== 0
    }
  }
} finally {
  server.kill()
  rmSync(work, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)

/** Some scenarios give an answer half a second, whatever the machine: the process of the plugin is up before they begin. */
async function warm(url) {
  const client = new Client({ name: 'warm', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  await client.callTool({ name: 'test_simple_text', arguments: {} })
  await client.close()
}

/** The end of what the suite says; all of it when it came to no end. */
function summary(said) {
  return said.slice(Math.max(0, said.lastIndexOf('=== SUMMARY ==='))).trim()
}

async function address({ stderr }) {
  let said = ''
  for (;;) {
    const [chunk] = await once(stderr, 'data')
    said += chunk
    const url = /http:\S+\/mcp/.exec(said)?.[0]
    if (url) return url
  }
}
