// The generated trees that searches are measured on: sources as they are in monorepos, with nested ignore files, links and some that are
// ignored. Made once for a size and kept in the temporary folder: the same text every time.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Packages of a tree and what each holds: about 27 folders and 228 files. */
export const sizes = { large: 100, small: 11 }

const words =
  'account action address agent answer array batch body buffer cache call channel check child client code column config count cursor data delta depth digest entry error event field file filter folder format frame graph group handle hash head index input item key layer length level limit line link list loader lock log map mark match merge mode module name node notice number object offset option order output owner page parent part path pattern peer place plan plugin point policy pool port prefix process queue range rank read record region request result root route rule schema scope search seal section segment session set shape signal size slot socket source space stage state step store stream string table tag target task term text thread time token tool trace tree type unit update user value version view walk watch window word worker write'.split(
    ' ',
  )

/** The root of a tree of that size. */
export function bigTree(size) {
  const root = join(tmpdir(), `vtcode-bench-tree-2-${size}`)
  if (existsSync(join(root, 'done'))) return root
  const making = `${root}-${process.pid}`
  rmSync(making, { recursive: true, force: true })
  for (let at = 0; at < sizes[size]; at++)
    aPackage(join(making, at % 5 === 0 ? 'apps' : 'packages', `${words[(at * 7) % words.length]}-${at}`), at)
  writeFileSync(
    join(making, '.gitignore'),
    '# of everybody\nnode_modules/\ndist/\n*.log\n.env\ncoverage\n*.tsbuildinfo\n/tmp\n',
  )
  mkdirSync(join(making, '.git'))
  writeFileSync(join(making, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(making, 'done'), '')
  rmSync(root, { recursive: true, force: true })
  renameSync(making, root)
  return root
}

function aPackage(folder, seed) {
  const random = randomOf(seed + 1)
  const pick = () => words[Math.floor(random() * words.length)]
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: `@bench/${seed}`, version: '1.0.0', type: 'module' }, null, 2),
  )
  writeFileSync(join(folder, '.gitignore'), `/generated/\n*.snap\n!keep.snap\n.cache\n${pick()}-${pick()}.ts\n`)
  for (const part of ['src', 'test', 'docs']) {
    for (let group = 0; group < (part === 'src' ? 14 : 4); group++) {
      const inside = join(folder, part, group % 3 === 0 ? pick() : join(pick(), `${pick()}-${group}`))
      mkdirSync(inside, { recursive: true })
      if (group % 5 === 0) writeFileSync(join(inside, '.ignore'), `*.bak\n${pick()}.txt\n`)
      for (let at = 0; at < 10; at++)
        writeFileSync(
          join(inside, `${pick()}-${pick()}-${at}${part === 'docs' ? '.md' : at % 4 === 3 ? '.js' : '.ts'}`),
          text(random, pick),
        )
      writeFileSync(join(inside, 'trace.log'), 'ignored\n')
    }
  }
  for (const name of ['generated', 'dist', 'node_modules/left', '.cache', 'empty'])
    mkdirSync(join(folder, name), { recursive: true })
  for (const name of [
    'generated/a.ts',
    'dist/a.js',
    'node_modules/left/index.js',
    '.cache/a',
    'keep.snap',
    'lost.snap',
    '.editorconfig',
  ])
    writeFileSync(join(folder, name), 'export const needle = 1\n')
  symlinkSync('package.json', join(folder, 'manifest.json'))
  symlinkSync('src', join(folder, 'source'))
}

function text(random, pick) {
  const lines = []
  const most = 40 + Math.floor(random() ** 3 * 900)
  for (let at = 0; at < most; at++) {
    const [one, two, three] = [pick(), pick(), pick()]
    if (at % 9 === 0) lines.push(`export function ${one}${two}(${three}: string, ${two}: number): string {`)
    else if (at % 9 === 8) lines.push('}', '')
    else lines.push(`  const ${one}${at} = ${two}.${three}(${pick()}, '${pick()} ${pick()}') ?? ${pick()}`)
  }
  return `${lines.join('\n')}\n`
}

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
