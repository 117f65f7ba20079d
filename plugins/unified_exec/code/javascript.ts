/** What runs a JavaScript snippet: an ES module beside it that brings the global `vtcode` and tells its `result`. */
export const javascript = `import { Socket } from 'node:net'

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

const { result } = await import('./snippet.mjs')
const told = result === undefined ? undefined : JSON.stringify({ result })
if (told !== undefined) {
  line.ref()
  line.write(told + '\\n', () => line.unref())
}
`
