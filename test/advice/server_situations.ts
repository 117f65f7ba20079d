import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { bootTypeScript, bootWords } from '../support/language_servers.js'
import { holdForFile } from '../support/held.js'
import type { Call } from './situations.js'

// Situations with a server: of a language, of MCP or of the web.

export interface ServerSituation {
  readonly code: string
  readonly boot: () => Promise<Booted>
  readonly call: Call
  readonly advice: RegExp
  /** Calls that follow the advice; each succeeds. */
  readonly then: readonly Call[]
}

const search = (action: string, input: object): Call => ['unified_search', { action, ...input }]
const rename = (input: object): Call => ['unified_file', { action: 'rename', new_name: 'term', ...input }]
const WORDS = 'word and word\n'
const twoAreas = {
  'a.ts': 'export class A {\n  area() {}\n}\n',
  'b.ts': 'export class B {\n  area() {}\n}\n',
}

async function bootMcp(): Promise<Booted> {
  const place = holdForFile(await tempWorkspace())
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
  const tools = ['die', 'echo', 'fail'].map((name) => ({ name, description: `The tool ${name}.`, inputSchema }))
  writeFileSync(join(place.root, 'tools.json'), JSON.stringify(tools))
  const program = join(import.meta.dirname, '../fixtures/mcp/server.mjs')
  const server = { command: process.execPath, args: [program, place.root, ''], startup_timeout_secs: 20 }
  return bootKernel({ config: { mcp: { servers: { s: server } } } })
}

/** Opens a workspace with an `http` tool, whose server knows the item 1. */
async function bootHttp(): Promise<Booted> {
  const server = createServer((request, response) => {
    if (!request.url?.endsWith('/1')) response.statusCode = 404
    response.setHeader('content-type', 'application/json')
    response.end(request.url?.endsWith('/1') ? '{"name":"one"}' : '{"error":"no such item; the only id is 1"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  holdForFile({ [Symbol.asyncDispose]: async () => void server.close() })
  const { port } = server.address() as AddressInfo
  const plugins = holdForFile(await tempWorkspace())
  const manifest = {
    name: 'item',
    description: 'Shows an item.',
    effects: ['net'],
    input: { properties: { id: { type: 'string' } }, required: ['id'] },
    http: { url: `http://127.0.0.1:${port}/items/{id}`, network: { private: true, http: true } },
  }
  writeFileSync(join(plugins.root, 'item.yaml'), JSON.stringify(manifest))
  return bootKernel({ manifests: [plugins.root] })
}

export const serverSituations: readonly ServerSituation[] = [
  {
    code: 'VT_SYMBOL_AMBIGUOUS',
    boot: () => bootTypeScript({ files: twoAreas }),
    call: search('definition', { symbol: 'area' }),
    advice: /Give path and line of one of them/,
    then: [search('definition', { symbol: 'area', path: 'a.ts', line: 2 })],
  },
  {
    code: 'VT_SYMBOL_NOT_FOUND',
    boot: () => bootTypeScript({ files: twoAreas }),
    call: search('definition', { symbol: 'volume' }),
    advice: /Find them with .*grep/,
    then: [search('grep', { pattern: 'area' }), search('definition', { symbol: 'area', path: 'b.ts', line: 2 })],
  },
  {
    code: 'VT_RENAME_REFUSED',
    boot: () => bootWords('overlap', { files: { 'a.words': WORDS } }),
    call: rename({ path: 'a.words', line: 1 }),
    advice: /Change the files with .*apply_patch/,
    then: [
      [
        'apply_patch',
        { input: '*** Begin Patch\n*** Update File: a.words\n@@\n-word and word\n+term and term\n*** End Patch' },
      ],
    ],
  },
  {
    code: 'VT_LANGUAGE_SERVER_MISSING',
    boot: () => bootKernel({ files: { 'notes.unknown': WORDS, 'a.py': 'def word(): pass\n' } }),
    call: search('definition', { path: 'notes.unknown', line: 1, symbol: 'word' }),
    advice: /grep or .*outline/,
    then: [search('grep', { pattern: 'word' }), search('outline', { path: 'a.py' })],
  },
  {
    code: 'VT_LANGUAGE_SERVER_FAILED',
    boot: () => bootWords('exits', { files: { 'a.words': WORDS, 'a.py': 'def word(): pass\n' } }),
    call: search('definition', { path: 'a.words', line: 1 }),
    advice: /grep or .*outline/,
    then: [search('grep', { pattern: 'word' }), search('outline', { path: 'a.py' })],
  },
  {
    code: 'VT_MCP_TOOL_ERROR',
    boot: bootMcp,
    call: ['mcp__s__fail', {}],
    advice: /Read the message of the tool and correct the call/,
    then: [['mcp__s__echo', { text: 'a' }]],
  },
  {
    code: 'VT_MCP_DISCONNECTED',
    boot: bootMcp,
    call: ['mcp__s__die', {}],
    advice: /The next call starts it again/,
    then: [['mcp__s__echo', { text: 'a' }]],
  },
  {
    code: 'VT_HTTP_STATUS',
    boot: bootHttp,
    call: ['item', { id: '2' }],
    advice: /Read details\.body/,
    then: [['item', { id: '1' }]],
  },
]
