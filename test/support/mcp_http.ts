import { spawn, type ChildProcess } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import type { TempWorkspace } from 'vtcode/test'
import { keepCompiledOf } from './compiled.js'
import { bin, surroundings } from './program.js'
import { serve, type TestServer } from './server.js'

/** `vtcode mcp --http` and how it is reached. */
export interface Serving {
  child: ChildProcess
  url: URL
  port: number
  token: string
  authorization: string
  stderr: () => string
}

/** Starts it on a free port and waits for its greeting; `global` are words before the verb. */
export async function serveMcp(made: TempWorkspace, flags: string[] = [], global: string[] = []): Promise<Serving> {
  const words = [...global, 'mcp', '--http', '0', ...flags]
  const env = surroundings(made)
  const child = spawn(process.execPath, [bin, ...words], { cwd: made.root, env, stdio: ['ignore', 'ignore', 'pipe'] })
  child.on('close', () => keepCompiledOf(words, env))
  let stderr = ''
  await new Promise<void>((resolve) =>
    child.stderr.on('data', (chunk) => /\n\}\n/.test((stderr += chunk)) && resolve()),
  )
  const url = new URL(/http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(stderr)![0])
  const token = /Bearer ([\w-]+)/.exec(stderr)?.[1] ?? ''
  return { child, url, port: Number(url.port), token, authorization: `Bearer ${token}`, stderr: () => stderr }
}

/** Requests to a server, and its answers in JSON. */
export interface Asked {
  id: number
  method: string
  response: ServerResponse
  json(result: object): void
}

/** Somebody else's MCP server over HTTP: it greets as they do, and answers the rest as the test says. */
export function mcpServer(answering: (asked: Asked) => unknown): Promise<TestServer> {
  return serve((request, response, { body }) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body) as {
      id?: number
      method: string
      params: { protocolVersion: string }
    }
    const json = (result: object) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'initialize')
      return json({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      })
    return answering({ id, method, response, json })
  })
}
