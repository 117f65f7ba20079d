/**
 * The program that runs a JavaScript snippet: an ES module that provides the global `vtcode` and reports its `result`.
 */
export const javascriptStart = `import { Socket } from 'node:net'
import { describe } from './result.mjs'

class CallError extends Error {
  constructor({ code, message, hint }) {
    super(code + ': ' + message)
    Object.assign(this, { name: 'CallError', code, hint })
  }
}

const line = new Socket({ fd: 3, readable: true, writable: true })
const waiting = new Map()
let last = 0
let rest = ''
// Only an answer that is waited for keeps the program alive.
line.unref()
line.setEncoding('utf8')
line.on('error', () => {})
line.on('data', (text) => {
  const lines = (rest + text).split('\\n')
  rest = lines.pop()
  for (const each of lines) {
    const { id, output, error } = JSON.parse(each)
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) line.unref()
    if (error) reject(new CallError(error))
    else resolve(output)
  }
})

globalThis.vtcode = Object.freeze({
  CallError,
  call: (tool, input = {}) =>
    new Promise((resolve, reject) => {
      waiting.set((last += 1), { resolve, reject })
      line.ref()
      line.write(JSON.stringify({ id: last, tool, input }) + '\\n')
    }),
})

let ended = false
// The event loop is empty, so nothing can settle the promise that the snippet awaits.
process.on('beforeExit', () => {
  if (!ended) send({ unsettled: true })
  ended = true
})

const { result } = await import('./snippet.mjs')
const value = await result
ended = true
send({ done: true, ...(value === undefined ? {} : describe(value)) })

function send(message) {
  line.ref()
  line.write(JSON.stringify(message) + '\\n', () => line.unref())
}
`
