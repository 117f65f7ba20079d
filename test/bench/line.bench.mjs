// A regular expression over a gigabyte in one line, against ripgrep, whose output, the line itself, a Node process reads and drops.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { createKernel } from 'vtcode'
import { peakBytes } from '../support/peak.mjs'
import { runs, versus } from './measure.mjs'

const pattern = 'needle[0-9]+'

export default async function bench() {
  const workspace = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  write(join(workspace, 'line.txt'), 1_000)
  const kernel = await createKernel({
    workspace,
    home: join(workspace, 'home'),
    env: {},
    config: { tools: { max_repeated_tool_calls: 0 } },
  })
  const ours = async (path) => {
    const result = await kernel.call('unified_search', { action: 'grep', pattern, path }, { session: 'bench' })
    if (result.output?.total_matches !== 1) throw new Error(JSON.stringify(result))
  }
  try {
    write(join(workspace, 'short.txt'), 0)
    await ours('short.txt')
    const before = peakBytes()
    await ours('line.txt')
    const grown = (peakBytes() - before) / 1e6
    return [
      await versus(
        'a regular expression over 1 GB in one line',
        1.5,
        () => ours('line.txt'),
        () => runs(rgPath, ['--no-config', '--json', '-e', pattern, 'line.txt'], workspace),
        5,
      ),
      { name: 'the same, memory', goal: 300, ratio: grown, unit: 'MB', detail: 'growth of the peak' },
    ]
  } finally {
    await kernel.close()
    rmSync(workspace, { recursive: true, force: true })
  }
}

function write(path, megabytes) {
  const block = Buffer.alloc(1_048_576, 'abcdefghij klmnop ')
  const fd = openSync(path, 'w')
  for (let i = 0; i < megabytes; i++) writeSync(fd, block)
  writeSync(fd, 'needle42\n')
  closeSync(fd)
}
