// Published MCP servers in our client, installed from npm: each is started by its name, lists, and answers one call where it needs no login.
// Run by hand: `node test/conformance/servers.mjs [name…]`; it writes the section `servers` of docs/compatibility.md, where a server that is not tried this time keeps its row.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKernel } from '../../dist/core/index.js'
import { rowsIn, table, writeSection } from './table.mjs'

const run = promisify(execFile)

/** Package → what it is started with, and the call that needs no login. `WS` is the workspace. */
const servers = {
  '@modelcontextprotocol/server-everything': { call: ['echo', { message: 'hello' }] },
  '@modelcontextprotocol/server-filesystem': { args: ['WS'], call: ['list_allowed_directories', {}] },
  '@modelcontextprotocol/server-memory': { call: ['read_graph', {}] },
  '@modelcontextprotocol/server-sequential-thinking': {
    call: ['sequentialthinking', { thought: 'One.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }],
  },
  '@upstash/context7-mcp': {},
  '@playwright/mcp': { args: ['--headless'], call: ['browser_close', {}] },
  'chrome-devtools-mcp': {},
  '@eslint/mcp': { call: ['lint-files', { filePaths: ['WS/a.js'] }] },
  '@mui/mcp': {},
  '@antv/mcp-server-chart': {},
  '@shopify/dev-mcp': {},
  'nx-mcp': { args: ['WS'] },
  '@sveltejs/mcp': {},
  '@stripe/mcp': { args: ['--api-key=sk_test_x'] },
  '@supabase/mcp-server-supabase': { env: { SUPABASE_ACCESS_TOKEN: 'sbp_0000000000000000000000000000000000000000' } },
  '@notionhq/notion-mcp-server': { env: { NOTION_TOKEN: 'x' } },
  '@sentry/mcp-server': { env: { SENTRY_ACCESS_TOKEN: 'x' } },
  '@brave/brave-search-mcp-server': { env: { BRAVE_API_KEY: 'x' } },
  'tavily-mcp': { env: { TAVILY_API_KEY: 'tvly-x' } },
  'firecrawl-mcp': { env: { FIRECRAWL_API_KEY: 'x' } },
  'exa-mcp-server': { env: { EXA_API_KEY: 'x' } },
  'mongodb-mcp-server': {},
  '@cyanheads/git-mcp-server': { call: ['git_set_working_dir', { path: 'WS' }] },
  'mcp-server-kubernetes': {},
  'kubernetes-mcp-server': {},
  '@zereight/mcp-gitlab': { env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'x' } },
  '@apify/actors-mcp-server': { env: { APIFY_TOKEN: 'x' } },
  '@hubspot/mcp-server': { env: { PRIVATE_APP_ACCESS_TOKEN: 'x' } },
  'n8n-mcp': {},
  'next-devtools-mcp': {},
  'mcp-mermaid': {},
  'figma-developer-mcp': { args: ['--stdio', '--figma-api-key=x'] },
  '@negokaz/excel-mcp-server': {},
  'puppeteer-mcp-server': {},
  'mcp-server-commands': { call: ['run_command', { command: 'echo hello' }] },
  'fast-filesystem-mcp': { call: ['fast_list_allowed_directories', {}] },
  'mcp-hello-world': { call: ['echo', { message: 'hello' }] },
  'mcp-server-code-runner': { call: ['run-code', { code: 'console.log(6 * 7)', languageId: 'javascript' }] },
}

/** The program of a package, installed without its scripts. */
async function install(name, folder) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', `${name}@latest`], {
    cwd: folder,
    timeout: 300_000,
  })
  const { version, bin } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  const path = typeof bin === 'string' ? bin : Object.values(bin ?? {})[0]
  if (!path) throw new Error('it has no program')
  return { version, program: join(folder, 'node_modules', name, path) }
}

async function tried(name, { args = [], env = {}, call }, place) {
  const folder = join(place, name.replace(/\W/g, '_'))
  const workspace = join(folder, 'ws')
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'a.js'), 'export const a = 1\n')
  await run('git', ['init', '-q'], { cwd: workspace })
  const row = { name: `\`${name}\``, version: '', connects: 'no', tools: '', prompts: '', call: '', remarks: '' }
  let kernel
  try {
    const { version, program } = await install(name, join(folder, 'installed'))
    row.version = version
    const filled = (value) => JSON.parse(JSON.stringify(value).replaceAll('WS', workspace))
    const server = { command: process.execPath, args: [program, ...filled(args)], env, startup_timeout_secs: 60 }
    const config = {
      automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'ask'] } },
      mcp: { servers: { s: server } },
    }
    const home = join(folder, 'home')
    const surroundings = { PATH: process.env.PATH, HOME: home, VTCODE_HOME: join(home, '.vtcode') }
    kernel = await createKernel({ workspace, home, env: surroundings, mode: 'full-auto', config, surface: 'test' })
    const told = kernel
      .diagnostics()
      .filter(({ code }) => /^VT_(MCP|SCHEMA)_/.test(code))
      .map(({ message }) => message.replaceAll(folder, '…').replace('The MCP server call:s cannot be started: ', ''))
    row.connects =
      kernel.inspection.contributions().find(({ id }) => id === 'call:s')?.state === 'active' ? 'yes' : 'no'
    const slots = kernel
      .list()
      .map(({ slot }) => slot)
      .filter((slot) => slot.startsWith('mcp__s__'))
    row.tools = String(slots.length)
    row.prompts = String(
      kernel.inspection.offers('prompt').filter(({ name: one }) => one.startsWith('mcp__s__')).length,
    )
    row.remarks = told.join(' ').slice(0, 160)
    if (row.connects === 'yes' && call) {
      const result = await kernel.call(`mcp__s__${call[0]}`, filled(call[1]))
      row.call = result.ok ? `\`${call[0]}\`` : `\`${call[0]}\` fails: ${result.error.message.slice(0, 100)}`
    } else row.call = call ? '' : 'needs a login, a browser or the net'
  } catch (error) {
    row.remarks = String(error.message).split('\n')[0].slice(0, 160)
  } finally {
    await kernel?.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return row
}

const chosen = process.argv.slice(2)
const place = mkdtempSync(join(tmpdir(), 'vtcode-servers-'))
const rows = rowsIn('servers')
try {
  for (const [name, how] of Object.entries(servers)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const row = Object.values(await tried(name, how, place))
    rows.set(row[0], row)
    process.stdout.write(`${row.join(' | ')}\n`)
  }
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 3 })
}
const all = Object.keys(servers).flatMap((name) => (rows.has(`\`${name}\``) ? [rows.get(`\`${name}\``)] : []))
const sum = all.reduce((tools, row) => tools + Number(row[3] || 0), 0)
writeSection(
  'servers',
  `${all.filter(([, , connects]) => connects === 'yes').length} of ${all.length} connect, with ${sum} tools; Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}, by \`node test/conformance/servers.mjs\`.

${table(['server', 'version', 'connects', 'tools', 'prompts', 'one call', 'remarks'], all)}`,
)
