import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { inTurn, median } from './measure.mjs'

/** The cost of the checkpoint of a command that changes nothing: the same command with and without. */
export default async () => {
  const rows = []
  for (const [files, goal] of [
    [3000, 30],
    [22_000, 120],
  ]) {
    const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
    for (let index = 0; index < files; index++) {
      const folder = join(root, 'work', `a${index % 20}`, `b${Math.floor(index / 20) % 20}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `f${index}.txt`), `${index}`.padEnd(200, '.'))
    }
    const open = (enabled) =>
      createKernel({
        workspace: join(root, 'work'),
        home: join(root, `home-${enabled}`),
        env: { PATH: process.env.PATH },
        mode: 'full-auto',
        config: {
          automation: { full_auto: { enabled: true, allowed_tools: ['unified_exec'] } },
          sandbox: { mode: 'off' },
          checkpoints: { enabled, wait_ms: 600_000 },
        },
      })
    const [kept, bare] = [await open(true), await open(false)]
    const run = (kernel) => async () => {
      const result = await kernel.call('unified_exec', { action: 'run', command: ['/bin/true'] })
      if (!result.ok) throw new Error(result.error.message)
    }
    try {
      const [ones, others] = await inTurn([run(kept), run(bare)], 15)
      const cost = median(ones.times.map((time, round) => time - others.times[round]))
      rows.push({
        name: `checkpoint of ${files} files, nothing changed`,
        goal,
        ratio: cost,
        unit: 'ms',
        detail: `processor time ${((ones.spent - others.spent) / 15).toFixed(1)} ms`,
      })
    } finally {
      await Promise.all([kept.close(), bare.close()])
      rmSync(root, { recursive: true, force: true })
    }
  }
  return rows
}
