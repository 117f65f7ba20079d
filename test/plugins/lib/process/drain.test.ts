import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { drain } from '../../../../build/plugins/lib/process/index.js'

// Each line is a write of its own, so that some of them are still in the pipe when the program is gone.
const script = 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done'
const wanted = Array.from({ length: 3000 }, (_, n) => `line ${n}\n`).join('')

it.each([
  ['into a buffer of ours', true],
  ['as Node reads it', false],
])(
  'the pipe of a program that ends is read %s in order and a chunk at a time, however slow the reader is',
  async (_, own) => {
    for (let round = 0; round < 10; round++) {
      const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
      const { _handle } = child.stdout as unknown as { _handle: { useUserBuffer?: unknown } }
      if (!own) Object.defineProperty(_handle, 'useUserBuffer', { value: undefined })
      let [read, busy] = ['', false]
      const stream = drain(child.stdout, (chunk: Buffer) => {
        expect(busy).toBe(false)
        busy = true
        read += chunk.toString()
        // The beginning is held back until the program has ended.
        return new Promise<void>((resolve) => setTimeout(resolve, read.length < 100 ? 40 : 0)).then(
          () => void (busy = false),
        )
      })
      await once(stream, 'close')
      expect(read).toBe(wanted)
    }
  },
)
