import { spawnSync } from 'node:child_process'
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'

/** An edit in a 10 MB file against doing the same by hand, and a patch of three hunks against `patch`. */
export default async () => {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const path = join(root, 'f.txt')
  const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i} of a file that is about ten megabytes`)
  const text = `${lines.join('\n')}\n`
  const kernel = await createKernel({ workspace: root, home: join(root, 'home'), env: {}, mode: 'auto' })
  let session = 0
  const call = async (tool, input) => {
    const result = await kernel.call(tool, input, { session: `bench-${session++}` })
    if (!result.ok) throw new Error(result.error.message)
  }
  const fresh = () => {
    writeFileSync(path, text)
    utimesSync(path, new Date(0), new Date(0))
  }
  const edit = { action: 'edit', path: 'f.txt', old_str: 'line 150000 of', new_str: 'LINE 150000 of' }
  const hunk = (i) => ` ${lines[i - 1]}\n-${lines[i]}\n+changed ${i}\n ${lines[i + 1]}\n`
  const places = [50_000, 100_000, 150_000]
  const input = `*** Begin Patch\n*** Update File: f.txt\n${places.map((i) => `@@\n${hunk(i)}`).join('')}*** End Patch`
  const diff = `--- a/f.txt\n+++ b/f.txt\n${places.map((i) => `@@ -${i},3 +${i},3 @@\n${hunk(i)}`).join('')}`
  const byHand = () => {
    const changed = readFileSync(path, 'utf8').replace(edit.old_str, () => edit.new_str)
    const fd = openSync(`${path}.tmp`, 'w')
    writeSync(fd, changed)
    fsyncSync(fd)
    closeSync(fd)
    renameSync(`${path}.tmp`, path)
  }
  const theirs = () => {
    const { status, stderr } = spawnSync('patch', ['-p1'], { cwd: root, input: diff })
    if (status !== 0) throw new Error(String(stderr))
  }
  try {
    const rounds = { edit: [], hand: [], patch: [], theirs: [] }
    const runs = {
      edit: () => call('unified_file', edit),
      hand: byHand,
      patch: () => call('apply_patch', { input }),
      theirs,
    }
    for (let round = 0; round < 9; round++) {
      for (const [name, run] of Object.entries(runs)) {
        fresh()
        rounds[name].push(await milliseconds(run))
      }
    }
    const of = (name) => median(rounds[name])
    fresh()
    const memory = {
      edit: await peak(root, ['unified_file', edit]),
      patch: (fresh(), await peak(root, ['apply_patch', { input }])),
    }
    const time = (name, goal, other, detail) => ({
      goal,
      ratio: of(name) / of(other),
      detail: `× ${detail}; ${of(name).toFixed(0)} ms`,
    })
    const room = (name) => ({
      goal: 2.5,
      ratio: memory[name] / text.length,
      detail: '× the file; growth of the peak of a process of its own',
    })
    return [
      { name: 'edit in a 10 MB file, durable', ...time('edit', 1.3, 'hand', 'read, replace, write, fsync, rename') },
      {
        name: 'patch of 3 hunks in a 10 MB file, durable',
        ...time('patch', 1.8, 'theirs', '`patch`, which does not sync'),
      },
      { name: 'edit in a 10 MB file, memory', ...room('edit') },
      { name: 'patch of 3 hunks in a 10 MB file, memory', ...room('patch') },
    ]
  } finally {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** How much a call adds to the most memory that a process has needed, once everything is loaded for a small one. */
async function peak(root, [tool, input]) {
  const script = `
    import { writeFileSync } from 'node:fs'
    import { createKernel } from 'vtcode'
    import { peakBytes } from '${new URL('../support/peak.mjs', import.meta.url)}'
    const [, root, tool, input] = process.argv
    const kernel = await createKernel({ workspace: root, home: root + '/home', env: {}, mode: 'auto' })
    writeFileSync(root + '/small', 'a\\n')
    await kernel.call('unified_file', { action: 'edit', path: 'small', old_str: 'a', new_str: 'b' }, { session: 'warm' })
    const patch = '*** Begin Patch\\n*** Update File: small\\n-b\\n+c\\n*** End Patch'
    await kernel.call('apply_patch', { input: patch }, { session: 'warm' })
    globalThis.gc()
    const before = process.memoryUsage().rss
    const result = await kernel.call(tool, JSON.parse(input), { session: 'measured' })
    if (!result.ok) throw new Error(result.error.message)
    console.log(peakBytes() - before)
    await kernel.close()`
  const args = ['--expose-gc', '--input-type=module', '-e', script, root, tool, JSON.stringify(input)]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (stdout === '') throw new Error(stderr)
  return Number(stdout)
}

async function milliseconds(run) {
  const began = process.hrtime.bigint()
  await run()
  return Number(process.hrtime.bigint() - began) / 1e6
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
