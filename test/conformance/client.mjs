// The client half: a kernel with one server, whose tools are called as a model would. The suite appends the server's URL.
import { createKernel } from '../../dist/core/index.js'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const url = process.argv.at(-1)
const work = mkdtempSync(join(tmpdir(), 'vtcode-conformance-'))
// The servers that want a login let everybody in whose browser follows their redirects.
const {
  toolCalls,
  client_id = 'https://conformance-test.local/client-metadata.json',
  client_secret,
} = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
process.env.BROWSER = fileURLToPath(new URL('../support/browser.mjs', import.meta.url))
const auth = { type: 'oauth', client_id, ...(client_secret && { client_secret }) }
const config = {
  // The suite starts about thirty of these processes at once.
  mcp: { servers: { suite: { type: 'streamable-http', url, auth, startup_timeout_secs: 100 } } },
  web: { private_hosts: ['*'] },
  policy: { mode: 'auto', allow: ['mcp__suite__*'] },
}
const kernel = await createKernel({ workspace: work, home: work, config })
const ask = async (questions) => Object.fromEntries(questions.map(({ id }) => [id, { selected: [] }]))
// Some scenarios say which calls they want; the others get one of each tool.
const text = { integer: 5, number: 5, boolean: true }
const samples = ({ required = [], properties = {} }) =>
  Object.fromEntries(required.map((name) => [name, text[properties[name]?.type] ?? 'text']))
const offered = kernel.list().filter(({ tool }) => tool.startsWith('mcp__'))
const calls =
  toolCalls?.map(({ name, arguments: input }) => [`mcp__suite__${name}`, input]) ??
  offered.map(({ slot, input }) => [slot, samples(input)])
for (const [slot, input] of calls)
  console.log(slot, JSON.stringify(await kernel.call(slot, input, { approve: () => true, ask })))
console.log(JSON.stringify(kernel.diagnostics()))
await kernel.close()
rmSync(work, { recursive: true, force: true })
