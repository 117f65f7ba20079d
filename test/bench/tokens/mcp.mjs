// The same tasks over MCP: what a client's requests would hold that sends a server's list and answers to a model as clients do, and nothing else.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { judged, measured, plant } from './race.mjs'

const project = join(dirname(fileURLToPath(import.meta.url)), '../../..')
const require = createRequire(join(project, 'package.json'))
const bin = (at, path) => join(at, 'node_modules', path)

/** What a client does itself, whatever the server: it shortens and continues the conversation. */
const ofTheClient = new Set(['30 steps with a compaction', 'resume and finish'])

const spoken = (words) => (deed) => {
  return Object.entries(deed).flatMap(([kind, value]) => {
    if (!words[kind]) throw new Error(`it has no tool for ${{ sh: 'commands', see: 'images' }[kind] ?? kind}`)
    return words[kind](value)
  })
}

export const servers = [
  {
    name: 'vtcode mcp',
    own: true,
    speak: (call) => [call],
    command: ({ home }) => [
      join(project, 'dist/core/bin.cjs'),
      'mcp',
      '--home',
      home,
      '-c',
      'policy.allow=["unified_exec/run","unified_exec/close"]',
      '-c',
      'policy.deny=["Bash(git push:*)"]',
    ],
  },
  {
    name: 'server-filesystem',
    package: '@modelcontextprotocol/server-filesystem',
    command: ({ at, work }) => [bin(at, '@modelcontextprotocol/server-filesystem/dist/index.js'), work],
    speak: spoken({
      // It has no range, only a beginning or an end.
      read: ({ path, offset, limit }) => ({
        name: 'read_text_file',
        input: { path, ...(offset !== undefined && { head: offset + limit - 1 }) },
      }),
      see: (path) => ({ name: 'read_media_file', input: { path } }),
      edit: ({ path, edits }) => ({
        name: 'edit_file',
        input: { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) },
      }),
      write: (input) => [
        ...(input.path.includes('/') ? [{ name: 'create_directory', input: { path: dirname(input.path) } }] : []),
        { name: 'write_file', input },
      ],
      tree: () => ({ name: 'directory_tree', input: { path: '.' } }),
    }),
  },
  {
    name: 'desktop-commander',
    package: '@wonderwhy-er/desktop-commander',
    command: ({ at }) => [bin(at, '@wonderwhy-er/desktop-commander/dist/index.js'), '--no-onboarding'],
    speak: spoken({
      read: ({ path, offset, limit }) => ({
        name: 'read_file',
        input: { path, ...(offset !== undefined && { offset: offset - 1, length: limit }) },
      }),
      see: (path) => ({ name: 'read_file', input: { path } }),
      sh: (command) => ({ name: 'start_process', input: { command, timeout_ms: 10_000 } }),
      edit: ({ path, edits }) =>
        edits.map(([old_string, new_string]) => ({
          name: 'edit_block',
          input: { file_path: path, old_string, new_string },
        })),
      write: ({ path, content }) => [
        { name: 'start_process', input: { command: `mkdir -p ${dirname(path)}`, timeout_ms: 10_000 } },
        { name: 'write_file', input: { path, content } },
      ],
    }),
  },
]

/** Runs a task over MCP; throws with the reason where a server has no tools for it. */
export async function racedOverMcp(server, task, { root, at, tokensOf }) {
  if (ofTheClient.has(task.id)) throw new Error('it is the work of the client')
  const [work, home] = [join(root, 'work'), join(root, 'home')]
  plant(task, { work, home })
  const script = server.own ? task.ours : (task.overMcp?.[server.name] ?? task.peer)
  const deeds = script.map((step) =>
    typeof step === 'function' ? (seen) => step(seen).flatMap(server.speak) : step.flatMap(server.speak),
  )
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js')
  const client = new Client({ name: 'race', version: '1' })
  // Paths are told relative to the folder, in which every server is started.
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: server.command({ at, work, home }),
      cwd: work,
      env: { PATH: process.env.PATH, HOME: home },
      stderr: 'ignore',
    }),
  )
  const state = { requests: [], seen: [], at: 0, steps: deeds }
  try {
    const tools = (await client.listTools()).tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    }))
    const messages = [{ role: 'user', content: task.question }]
    const ask = (results) => {
      const body = { model: 'm', messages: [...messages], tools }
      state.requests.push({ text: JSON.stringify(body), body, results })
    }
    ask([])
    for (const step of deeds) {
      const calls = typeof step === 'function' ? step(state.seen.join('\n')) : step
      state.at++
      if (calls.length === 0) continue
      const ids = calls.map((_, index) => `call_${state.at}_${index}`)
      messages.push({
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ name, input }, index) => ({
          id: ids[index],
          type: 'function',
          function: { name, arguments: JSON.stringify(input) },
        })),
      })
      const results = []
      for (const [index, { name, input }] of calls.entries()) {
        const content = shown(await client.callTool({ name, arguments: input }))
        results.push(content)
        messages.push({ role: 'tool', tool_call_id: ids[index], content })
      }
      state.seen.push(...results)
      ask(results)
    }
  } finally {
    await client.close()
  }
  return { ...measured(state.requests, tokensOf), ...judged(task, state, work), said: state.seen.at(-1) ?? '' }
}

/** Of a result clients hand on what is structured, where there is anything, else what is in its content. */
const shown = ({ content, structuredContent }) =>
  structuredContent
    ? JSON.stringify(structuredContent)
    : content.map((block) => block.text ?? block.data ?? JSON.stringify(block)).join('\n')
