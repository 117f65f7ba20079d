// Makes the program start fast: few files to load, little to compile, nothing made that is not used.
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { rolldown } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const require = createRequire(import.meta.url)
const vendor = 'dist/vendor'

/**
 * The kernel and the MCP server in a few files instead of fifty. The front door, the program and the server share their chunks,
 * so there is one kernel in a process, whichever way it came in. Chunks lie in core/ too: modules know files beside them.
 */
export async function bundleProgram() {
  const bundle = await rolldown({
    input: { 'core/index': 'core/index.ts', 'core/bin': 'core/bin.ts', 'plugins/surface/mcp/main': 'plugins/surface/mcp/main.ts' },
    platform: 'node',
    // The half of the server that speaks HTTP stays as tsc made it: it is in no hurry.
    external: (id) => id === './http.js' || id === './doctor.js' || (/^(node:|[a-z@])/.test(id) && !/^(core|plugins|@oxc-project)\//.test(id)),
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    transform: { target: 'es2022' },
  })
  for (const old of readdirSync('dist/core').filter((name) => name.startsWith('_'))) rmSync(`dist/core/${old}`)
  await bundle.write({ dir: 'dist', format: 'esm', chunkFileNames: 'core/_[name].js', comments: { annotation: false, jsdoc: false } })
}

/**
 * The parts of the MCP SDK that serve, each as one script; beside that for stdio V8's code cache of a first conversation: as
 * modules the SDK takes longer to start than Node itself. A cache made by another version of V8 is merely not used.
 */
export async function bundleSdk() {
  mkdirSync(vendor, { recursive: true })
  for (const name of ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod']) {
    copyFileSync(here(`../node_modules/${name}/LICENSE`), `${vendor}/LICENSE.${name.replace(/^@.*\//, 'mcp_')}`)
  }
  await bundlePart('http')
  const script = await bundlePart('stdio')
  const sdk = {}
  script.runInThisContext()(sdk, require)
  await converse(sdk)
  writeFileSync(`${vendor}/mcp_stdio.cache`, script.createCachedData())
}

async function bundlePart(name) {
  const bundle = await rolldown({
    input: here(`sdk/${name}.mjs`),
    platform: 'node',
    plugins: [unused],
    resolve: { alias: { '@modelcontextprotocol/server/_shims': here('sdk/shims.mjs') } },
  })
  const { output } = await bundle.generate({ format: 'cjs', minify: true })
  const source = `(function (exports, require) {${output[0].code}\n})`
  writeFileSync(`${vendor}/mcp_${name}.cjs`, source)
  return new Script(source, { filename: `${vendor}/mcp_${name}.cjs` })
}

/** Lets the bundler leave out schemas: making one has no effect but itself, and the loops that list them all serve an API we do not use. */
const unused = {
  name: 'unused-schemas',
  transform(code, id) {
    if (!/@modelcontextprotocol\/(core|server)\//.test(id)) return undefined
    let text = ''
    let end = 0
    const replace = (node, by) => {
      text += code.slice(end, node.start) + by
      end = node.end
    }
    for (const statement of parseAst(code).body) {
      if (statement.type === 'ForOfStatement') replace(statement, '')
      for (const { init } of statement.type === 'VariableDeclaration' ? statement.declarations : []) {
        if (init?.type === 'CallExpression') replace(init, `/* @__PURE__ */ (() => ${code.slice(init.start, init.end)})()`)
      }
    }
    return text + code.slice(end)
  },
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
      const server = new Server({ name: 'vtcode', version: '0' }, { capabilities: { tools: { listChanged: true } } })
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
