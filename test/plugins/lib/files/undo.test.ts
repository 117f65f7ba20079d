import { spawn } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWorkspace } from 'vtcode'
import { bootKernel } from 'vtcode/test'
import { findLatestChange, undo } from '../../../../build/plugins/lib/files/index.js'

/** A folder that alternates with a link to `.git`. */
const flipper = `
  import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
  const stay = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * ms)
  for (;;) {
    renameSync('d', 'away'), symlinkSync('.git', 'd'), stay(1)
    unlinkSync('d'), renameSync('away', 'd'), stay(8)
  }`

it('restores a file in its own folder and never in git, while the folder is exchanged for a link', async () => {
  // The git file equals the result of the last change, so an undo through the link would accept it.
  await using made = await bootKernel({
    mode: 'auto',
    config: { manifests: ['!builtin:repeats', '!builtin:duplicate_calls'] },
    files: { 'd/config': 'one', '.git/config': 'two', 'flip.mjs': flipper },
  })
  const workspace = openWorkspace(made.root, { home: join(made.home, '.vtcode') })
  const flips = spawn(process.execPath, ['flip.mjs'], { cwd: made.root, stdio: 'ignore' })
  const closed = new Promise((resolve) => flips.once('close', resolve))
  const codes = new Map<string, number>()
  const count = (code: string) => codes.set(code, (codes.get(code) ?? 0) + 1)
  const one = { tool: 'unified_file', input: { action: 'write', path: 'd/config', overwrite: true } }
  try {
    await expect.poll(() => readlinkIf(join(made.root, 'd')), { interval: 1 }).toBe('.git')
    const end = Date.now() + 1500
    for (let n = 0; Date.now() < end || !codes.has('undone'); n++) {
      const session = `s${n}`
      for (const content of ['one', 'two'])
        while (!(await made.call(one.tool, { ...one.input, content }, { session })).ok) count('refused')
      for (;;) {
        const latest = await findLatestChange(workspace, session)
        const outcome = await undo(workspace, latest!).then(
          () => 'undone',
          (error: { code?: string; message: string }) => error.code ?? error.message,
        )
        expect(readFileSync(join(made.root, '.git/config'), 'utf8')).toBe('two')
        count(outcome)
        if (outcome === 'undone') break
      }
    }
  } finally {
    flips.kill('SIGKILL')
    await closed
    workspace.close()
  }
})

function readlinkIf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
