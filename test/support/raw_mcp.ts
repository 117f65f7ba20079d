import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TempWorkspace } from 'vtcode/test'
import { keepCompiledOf } from './compiled.js'
import { bin, surroundings } from './program.js'

/** A message as it came. */
export interface RawLine {
  id?: unknown
  method?: string
  params?: { message?: string; data?: string }
  result?: { content: { text?: string }[] }
  error?: { code: number; message: string }
}

/** An MCP server on stdio, driven line by line without a client library; calls use the short form unless they need more. */
export function rawMcp(home: TempWorkspace, words: string[], root = home.root) {
  const env = surroundings(home)
  const server = spawn(process.execPath, [bin, ...words], { cwd: root, env, stdio: ['pipe', 'pipe', 'ignore'] })
  server.on('close', () => keepCompiledOf(words, env))
  const lines: RawLine[] = []
  const told: (() => void)[] = []
  createInterface(server.stdout).on('line', (line) => {
    lines.push(JSON.parse(line) as RawLine)
    for (const tell of told.splice(0)) tell()
  })
  const send = (message: object) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const line = async (like: (line: RawLine) => boolean): Promise<RawLine> => {
    for (;;) {
      const found = lines.find(like)
      if (found) return found
      await new Promise<void>((resolve) => told.push(resolve))
    }
  }
  let last = 0
  const call = (params: object) => {
    const id = ++last
    send({ id, method: 'tools/call', params })
    return line((one) => one.id === id && one.method === undefined).then(({ result, error }) => ({ result, error }))
  }
  /** Ends as a client ends it; its exit code. */
  const end = () => {
    const ended = new Promise<number | null>((resolve) => server.on('exit', resolve))
    server.stdin.end()
    return ended
  }
  return { lines, send, line, call, end }
}
