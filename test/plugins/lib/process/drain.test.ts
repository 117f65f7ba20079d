import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { drain } from '../../../../build/plugins/lib/process/index.js'

// Each line is a separate write, so that some lines are still in the pipe after the program ended.
const script = 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done'
const wanted = Array.from({ length: 3000 }, (_, n) => `line ${n}\n`).join('')

it.each([
  ['into a buffer of ours', true],
  ['as Node reads it', false],
])('reads the output of a program that ends %s, in order and chunk by chunk, for any slow reader', async (_, own) => {
  for (let round = 0; round < 10; round++) {
    const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { _handle } = child.stdout as unknown as { _handle: { useUserBuffer?: unknown } }
    if (!own) Object.defineProperty(_handle, 'useUserBuffer', { value: undefined })
    let [read, busy] = ['', false]
    const stream = drain(child.stdout, (chunk: Buffer) => {
      expect(busy).toBe(false)
      busy = true
      read += chunk.toString()
      // The reader delays the first chunks until the program has ended.
      return new Promise<void>((resolve) => setTimeout(resolve, read.length < 100 ? 40 : 0)).then(
        () => void (busy = false),
      )
    })
    await once(stream, 'close')
    expect(read).toBe(wanted)
  }
})
