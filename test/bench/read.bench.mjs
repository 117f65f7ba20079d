import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, utimesSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'

/** Line 1,000,000 of a 500 MB file, for the first time and again. */
export default async () => {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const path = join(root, 'big.txt')
  write(path, 500_000_000)
  const kernel = await createKernel({ workspace: root, home: join(root, 'home'), env: {} })
  const read = async (offset_lines) => {
    const result = await kernel.call('unified_file', {
      action: 'read',
      path: 'big.txt',
      offset_lines,
      page_size_lines: 1,
    })
    if (!result.ok) throw new Error(result.error.message)
  }
  try {
    await kernel.call('unified_file', { action: 'read', path: 'none' })
    const sed = () => spawnSync('sed', ['-n', '1000000p', path])
    sed()
    const before = process.memoryUsage().rss
    const theirs = await seconds(sed)
    const first = await seconds(() => read(1_000_000))
    const grown = (process.memoryUsage().rss - before) / 1e6
    const again = []
    for (let line = 1_000_001; line < 1_000_102; line++) again.push(await seconds(() => read(line)))
    return [
      {
        name: 'line 1,000,000 of 500 MB, first',
        goal: 1.2,
        ratio: first / theirs,
        detail: `× \`sed -n\`; ${(first * 1000).toFixed(0)} ms`,
      },
      {
        name: 'line 1,000,000 of 500 MB, again',
        goal: 2,
        ratio: median(again) * 1000,
        unit: 'ms',
        detail: 'median of 101 lines',
      },
      {
        name: 'line 1,000,000 of 500 MB, memory',
        goal: 20,
        ratio: grown,
        unit: 'MB',
        detail: 'growth of the resident set',
      },
    ]
  } finally {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  }
}

function write(path, size) {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat((i * 7919) % 80)}`).join('\n')
  const fd = openSync(path, 'w')
  for (let written = 0; written < size;) written += writeSync(fd, `${lines}\n`)
  closeSync(fd)
  // Old enough to be trusted not to change within one tick of the clock.
  utimesSync(path, new Date(0), new Date(0))
}

async function seconds(run) {
  const began = process.hrtime.bigint()
  await run()
  return Number(process.hrtime.bigint() - began) / 1e9
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]
