// One call from a shell: what a whole program costs that reads a file and ends.
import { writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { byNode, inTurn, median } from './measure.mjs'
import { bin, inFolder, place } from './scene.mjs'

export default () =>
  inFolder(async (folder) => {
    const { workspace, env } = place(folder, {})
    writeFileSync(join(workspace, 'a.txt'), 'one\ntwo\n')
    const program =
      (...args) =>
      async () => {
        const [code] = await once(spawn(process.execPath, args, { cwd: workspace, env, stdio: 'ignore' }), 'exit')
        if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
      }
    const [ours, bare] = await inTurn(
      [program(bin, 'call', 'unified_file', 'read', '--path', 'a.txt'), program('-e', '0')],
      25,
    )
    const [called, empty] = [median(ours.times), median(bare.times)]
    return [
      {
        name: '`vtcode call unified_file read`, against bare node',
        goal: byNode(2.2, 2.8),
        ratio: called / empty,
        detail: `median of 25 in turn: ${called.toFixed(0)} ms, \`node -e 0\` ${empty.toFixed(0)} ms`,
      },
    ]
  })
