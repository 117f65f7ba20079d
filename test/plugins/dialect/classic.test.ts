import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { bootKernel, fixtureW, matches, tempWorkspace } from 'vtcode/test'

const tools = [
  'ast_grep_search',
  'edit_file',
  'grep_search',
  'list_files',
  'read_file',
  'run_terminal_cmd',
  'write_file',
]

describe('dialect option', () => {
  it('lists only the tools of the chosen dialects and rejects an unknown dialect', async () => {
    const place = await tempWorkspace()
    const listed = async (...dialects: string[]): Promise<string[]> => {
      const kernel = await createKernel({
        workspace: place.root,
        home: place.home,
        env: { HOME: place.home },
        dialects,
      })
      const names = kernel
        .tools()
        .map(({ name }) => name)
        .sort()
      await kernel.close()
      return names
    }
    expect(await listed('classic')).toEqual(tools)
    expect(await listed('omp')).toEqual(['ast_grep'])
    expect(await listed('thndrs')).toEqual(
      [
        'create_file',
        'find_files',
        'list_searchable_files',
        'poll_shell',
        'read_file_range',
        'read_url',
        'replace_range',
        'run_shell',
        'search_text',
        'stop_shell',
        'web_search',
        'write_patch',
      ].sort(),
    )
    expect(await listed('omp', 'classic')).toEqual(['ast_grep', ...tools].sort())
    expect(await listed('unified')).not.toContain('read_file')
    await expect(listed('clasic')).rejects.toThrow(
      /Unknown dialect 'clasic' \(did you mean classic\?\); known: classic/,
    )
    await place[Symbol.asyncDispose]()
  })
})

describe('classic dialect', () => {
  it('pages the list in both answer formats of list_files', async () => {
    await using vt = await bootKernel({ files: fixtureW() })
    const first = await vt.call('list_files', { path: 'src', mode: 'recursive', per_page: 2 })
    matches(first, { ok: true, output: { page: 1, per_page: 2, total: 3, has_more: true } })
    matches(await vt.call('list_files', { path: 'src', mode: 'recursive', per_page: 2, page: 2 }), {
      ok: true,
      output: { items: [{ path: 'src/list.ts' }], has_more: false },
    })
    expect(first.ok && Object.keys((first.output['items'] as object[])[0]!)).toEqual(['path', 'type'])
    const detailed = await vt.call('list_files', { path: 'src', response_format: 'detailed' })
    expect(detailed.ok && (detailed.output['items'] as object[])[0]).toMatchObject({
      name: 'app.ts',
      modified: expect.any(String) as string,
    })
  })

  it('searches with grep_search in the modes fuzzy and similarity', async () => {
    await using vt = await bootKernel({ files: fixtureW() })
    matches(await vt.call('grep_search', { mode: 'fuzzy', pattern: 'exprtcls', fuzzy_threshold: 0.5 }), {
      ok: true,
      output: { mode: 'fuzzy', matches: [{ path: 'src/app.ts', line_number: 3 }] },
    })
    matches(await vt.call('grep_search', { mode: 'similarity' }), { ok: false, error: { code: 'VT_INPUT_MISSING' } })
  })

  it('runs programs with run_terminal_cmd, in a terminal and without one', async () => {
    await using vt = await bootKernel()
    matches(await vt.call('run_terminal_cmd', { command: ['printf', 'a'], mode: 'terminal' }), {
      ok: true,
      output: { stdout: 'a', exit_code: 0, mode: 'terminal' },
    })
    matches(await vt.call('run_terminal_cmd', { command: 'test -t 1 && echo tty' }), {
      ok: true,
      output: { output: 're:tty\\s*', mode: 'pty' },
    })
  })

  it('lints by the rules of the project with ast_grep_search and applies no rewrite', async () => {
    await using vt = await bootKernel({ files: fixtureW() })
    matches(await vt.call('ast_grep_search', { operation: 'lint' }), {
      ok: true,
      output: { matches: [{ path: 'src/app.ts', severity: 'error', rule: 'no-log' }] },
    })
    matches(
      await vt.call('ast_grep_search', { pattern: 'console.log($A)', rewrite: 'log($A)', operation: 'transform' }),
      { ok: true, output: { matches: [{ note: 'console.log(name) → log(name)' }] } },
    )
    expect(await vt.read('src/app.ts')).toContain('console.log(name)')
  })
})

it('shows an MCP client the error as text with a next call of the classic dialect that works', async () => {
  const place = await tempWorkspace({ 'main.rs': '' })
  const program = fileURLToPath(new URL('../../../dist/core/bin.js', import.meta.url))
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, '--home', place.home, '--workspace', place.root, '--dialect', 'classic,omp', 'mcp'],
      stderr: 'ignore',
    }),
  )
  const result = await client.callTool({ name: 'list_files', arguments: { mode: 'find_name' } })
  matches(result, {
    isError: true,
    content: [
      {
        type: 'text',
        text: "Error: Missing 'name_pattern'. Example: list_files(path='.', mode='recursive', name_pattern='*.rs')",
      },
    ],
  })
  matches(
    await client.callTool({ name: 'list_files', arguments: { path: '.', mode: 'recursive', name_pattern: '*.rs' } }),
    { content: [{ type: 'text', text: 'main.rs\n1 entry' }] },
  )
  const { tools: listed } = await client.listTools()
  expect(listed.map(({ name }) => name).sort()).toEqual(['ast_grep', ...tools].sort())
  await client.close()
  await place[Symbol.asyncDispose]()
})
