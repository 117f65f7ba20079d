// The searches of the bench `large` as an editor makes them: over MCP on stdio, the client included.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { Peer } from './mcp_peer.mjs'
import { runs, versus } from './measure.mjs'
import { bin } from './scene.mjs'
import { bigTree } from './tree.mjs'

const rules = ['--no-config', '--no-require-git', '--no-ignore-global']
const rounds = 9

export default async function bench() {
  const [large, small] = [await on('large'), await on('small')]
  const rows = large.rows.map(({ detail, ...row }, at) => ({
    ...row,
    detail: `22,201 files: ${detail}; 2,443 files: ${small.rows[at].ratio.toFixed(2)}, ${small.rows[at].detail}; grows by ${(row.ratio / small.rows[at].ratio).toFixed(2)}`,
  }))
  return [
    ...rows,
    {
      name: 'memory of the server after the large grep',
      goal: 120,
      ratio: large.memory,
      unit: 'MB',
      detail: 'resident, after all of these; ripgrep is a process of its own',
    },
  ]
}

async function on(size) {
  const [workspace, home] = [bigTree(size), mkdtempSync(join(tmpdir(), 'vtcode-bench-'))]
  const server = new Peer([
    bin,
    'mcp',
    '--workspace',
    workspace,
    '--home',
    home,
    '-c',
    'tools.max_repeated_tool_calls=0',
  ])
  await server.open()
  const search = (input) => async () => {
    const { result } = await server.ask('tools/call', { name: 'unified_search', arguments: input })
    if (!result || result.isError) throw new Error(JSON.stringify(result))
  }
  const rg =
    (...args) =>
    () =>
      runs(rgPath, [...rules, ...args], workspace)
  const grep = (name, input) =>
    versus(
      `over MCP: grep, ${name}`,
      1.3,
      search({ action: 'grep', ...input }),
      rg('--json', '--crlf', '--engine', 'auto', '--smart-case', '-e', input.pattern, './'),
      rounds,
    )
  try {
    const rows = [
      await versus(
        'over MCP: list files',
        1.3,
        search({ action: 'list', mode: 'recursive', entry_type: 'file' }),
        rg('--files'),
        rounds,
      ),
      await grep('200 of many', { pattern: 'export function', max_results: 200 }),
      await grep('nothing', { pattern: 'zzqqy' }),
      await grep('a regular expression', { pattern: 'set[a-z]+\\(walk\\w*: string', max_results: 200 }),
    ]
    return {
      rows: rows.map(({ detail, ...row }) => ({ ...row, detail: detail.replace(/; by processor time.*/, '') })),
      memory: server.memory(),
    }
  } finally {
    server.child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  }
}
