// Bundles the part of the MCP SDK that serves into one script, with V8's code cache of a first conversation beside it. As modules
// the SDK takes longer to start than Node itself; a cache made by another version of V8 is merely not used.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { rolldown } from 'rolldown'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const require = createRequire(import.meta.url)

export async function vendor(folder) {
  const file = `${folder}/mcp_sdk.cjs`
  const bundle = await rolldown({ input: here('vendor/mcp_sdk.mjs'), platform: 'node', resolve: { alias: { '@modelcontextprotocol/server/_shims': here('vendor/shims.mjs') } } })
  const { output } = await bundle.generate({ format: 'cjs', minify: true })
  const source = `(function (exports, require) {${output[0].code}\n})`
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, source)

  for (const name of ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod']) {
    copyFileSync(here(`../node_modules/${name}/LICENSE`), `${folder}/LICENSE.${name.replace(/^@.*\//, 'mcp_')}`)
  }

  const script = new Script(source, { filename: file })
  const sdk = {}
  script.runInThisContext()(sdk, require)
  await converse(sdk)
  writeFileSync(`${folder}/mcp_sdk.cache`, script.createCachedData())
}

/** One handshake, list and call, so that the functions a connection needs are compiled and thus in the cache. */
async function converse({ Server, serveStdio }) {
  const answers = new Map()
  const wire = {
    start: async () => {},
    send: async (message) => answers.get(message.id)?.(),
    close: async () => wire.onclose?.(),
  }
  const ask = (id, method, params) =>
    new Promise((resolve) => {
      answers.set(id, resolve)
      wire.onmessage({ jsonrpc: '2.0', id, method, params })
    })
  const handle = serveStdio(
    () => {
      const server = new Server({ name: 'vtcode', version: '0' }, { capabilities: { tools: { listChanged: true }, logging: {} } })
      server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }))
      server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'hello' }], structuredContent: { text: 'hello' } }))
      return server
    },
    { transport: wire },
  )
  await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'build', version: '0' } })
  wire.onmessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await ask(2, 'tools/list', {})
  await ask(3, 'tools/call', { name: 'echo', arguments: {} })
  await handle.close()
}
