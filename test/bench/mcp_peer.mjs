import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A client of an MCP server on stdio, of a few lines, so that what is measured is the server. */
export class Peer {
  #id = 0
  #waiting = new Map()
  #rest = ''
  constructor(argv) {
    this.child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.child.stdout.setEncoding('utf8').on('data', (chunk) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop()
      for (const line of lines) {
        const message = JSON.parse(line)
        this.#waiting.get(message.id)?.(message)
        this.#waiting.delete(message.id)
      }
    })
  }
  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  ask(method, params) {
    const id = ++this.#id
    this.send({ id, method, params })
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }
  async open() {
    const greeting = this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    })
    this.send({ method: 'notifications/initialized' })
    await Promise.all([greeting, this.ask('tools/list', {})])
  }
  memory() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8'))[1]) / 1024
  }
}
