// Compares `apply_patch` with `git apply` on random differences between commits of real repositories:
// `node test/run/public_patches.mjs [--count=N] [--seed=N] GIT_DIRECTORY…`, after `npm run build`.
// Both must give the same files, or `apply_patch` must refuse before it changes anything. Needs git and GNU tar.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createKernel } from 'vtcode'

const { values, positionals } = parseArgs({
  options: { count: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
})
const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
const git = (args, options = {}) => execFileSync('git', args, { env, maxBuffer: 1e9, stdio: 'pipe', ...options })

// A small generator with a seed (mulberry32), so that a run can be repeated.
let state = Number(values.seed)
function random(limit) {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
}
const choose = (list) => list[random(list.length)]

const forms = [
  [],
  ['-M'],
  ['-M', '-C'],
  ['--no-renames'],
  ['--full-index'],
  ['--binary'],
  ['-U1'],
  ['-U10'],
  ['--patience'],
  ['--histogram'],
  ['--function-context'],
  ['--minimal', '--stat', '-p'],
]

/** Writes the files of a commit, as they are stored. */
function checkOut(directory, commit, folder) {
  const index = `${folder}.index`
  const options = { env: { ...env, GIT_INDEX_FILE: index } }
  mkdirSync(folder)
  git(['--git-dir', directory, 'read-tree', commit], options)
  git(['--git-dir', directory, '--work-tree', folder, '-c', 'core.autocrlf=false', 'checkout-index', '-a'], options)
  rmSync(index, { force: true })
}

/** Returns the kind, the content and the right to execute of each file. */
function readTree(folder) {
  const found = {}
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/^\.vtcode(?:\/|$)/.test(path)) continue
    const full = join(folder, path)
    const facts = lstatSync(full)
    if (facts.isDirectory()) continue
    const content = facts.isSymbolicLink() ? `link ${readlinkSync(full)}` : readFileSync(full)
    found[path] = `${facts.mode & 0o100} ${createHash('sha256').update(content).digest('hex')}`
  }
  return found
}

const counts = { same: 0, refused: 0, differ: 0, 'refused by git too': 0 }
const reasons = {}
for (const directory of positionals) {
  const commits = git(['--git-dir', directory, 'rev-list', '--first-parent', 'HEAD'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  for (let made = 0; made < Number(values.count);) {
    const newer = random(commits.length - 1)
    const older = Math.min(commits.length - 1, newer + 1 + random(choose([1, 3, 20])))
    const form = choose(forms)
    const pair = random(4) === 0 ? [commits[newer], commits[older]] : [commits[older], commits[newer]]
    const patch = git(['--git-dir', directory, 'diff', ...form, ...pair]).toString('latin1')
    if (patch === '' || patch.length > 1 << 20) continue
    made++
    const root = mkdtempSync(join(tmpdir(), 'vtcode-patches-'))
    const [ours, theirs] = [join(root, 'ours'), join(root, 'theirs')]
    for (const folder of [ours, theirs]) checkOut(directory, pair[0], folder)
    const before = readTree(ours)
    const text = Buffer.from(patch, 'latin1').toString('utf8')
    const kernel = await createKernel({ workspace: ours, home: join(root, 'home'), env: {}, mode: 'full-auto' })
    const result = await kernel.call('apply_patch', { input: text })
    await kernel.close()
    const applied = spawnSync('git', ['apply', '--whitespace=nowarn', '-'], {
      cwd: theirs,
      env: { ...env, GIT_CEILING_DIRECTORIES: root },
      input: Buffer.from(patch, 'latin1'),
    })
    const [now, wanted] = [readTree(ours), readTree(theirs)]
    const isSame = JSON.stringify(now) === JSON.stringify(wanted)
    const isUnchanged = JSON.stringify(now) === JSON.stringify(before)
    const told = `${directory} ${pair.join('..')} ${form.join(' ')}`
    if (result.ok && applied.status === 0 && isSame) counts.same++
    else if (!result.ok && isUnchanged) {
      counts[applied.status === 0 ? 'refused' : 'refused by git too']++
      const reason = `${result.error.code}: ${result.error.message.slice(0, 160)}`
      ;(reasons[result.error.code] ??= []).push(`${told}: ${reason}`)
    } else {
      counts.differ++
      const names = [...new Set([...Object.keys(now), ...Object.keys(wanted)])].filter(
        (name) => now[name] !== wanted[name],
      )
      console.log(
        `DIFFERS ${told}: git ${applied.status}, ours ${result.ok ? 'applied' : result.error.message}; ${names.slice(0, 5).join(', ')}`,
      )
    }
    rmSync(root, { recursive: true })
  }
  console.log(directory, counts)
}
for (const [code, all] of Object.entries(reasons))
  console.log(`${code} × ${all.length}\n  ${all.slice(0, 5).join('\n  ')}`)
process.exit(counts.differ > 0 ? 1 : 0)
