// unified_search against the engines it stands on, over this project's own node_modules and sources.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rgPath } from '@vscode/ripgrep'
import { createKernel } from 'vtcode'
import { alone, inTurn, median, runs, versus } from './measure.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const astGrep = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath()
const rules = ['--no-config', '--no-require-git', '--no-ignore-global']

export default async function bench() {
  return [
    ...(await on(root, async (search) => [
      ...(await texts(search)),
      ...(await structurals(search)),
      ...(await cancelled(search)),
    ])),
    ...(await outlines()),
    await kept(),
  ]
}

/** Measures of a workspace: the function given makes calls, each a new one to the guard against circles. */
async function on(workspace, measure) {
  const kernel = await createKernel({ workspace, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
  try {
    return await measure((input, extra) => async () => {
      const result = await kernel.call('unified_search', input, { session: 'bench', ...extra })
      if (!result.ok) throw new Error(result.error.message)
    })
  } finally {
    await kernel.close()
  }
}

async function texts(search) {
  const rg =
    (...args) =>
    () =>
      runs(rgPath, [...rules, ...args], join(root, 'node_modules'))
  const both = (pattern) => [search({ action: 'grep', pattern, path: 'node_modules' }), rg('-S', '-e', pattern, './')]
  return [
    await versus('grep, a name', 1.15, ...both('createSourceFile')),
    await versus('grep, a regular expression', 1.15, ...both('create[A-Z]\\w+File\\(')),
    await versus('grep, a word on 40,000 lines', 1.15, ...both('function')),
    await versus('grep, nothing', 1.15, ...both('zzqqy')),
    await manyAndFew(both('throw'), both('SharedArrayBuffer')),
    await versus(
      'list recursive',
      1.3,
      search({ action: 'list', mode: 'recursive', path: 'node_modules' }),
      rg('--files'),
    ),
  ]
}

/** Whether what a search takes over the engine grows with the matches. */
async function manyAndFew(many, few) {
  const [ours, engine, oursFew, engineFew] = await inTurn([...many, ...few], 15)
  const over = (one, other) => median(one.times.map((time, round) => time / other.times[round]))
  const [ofMany, ofFew] = [over(ours, engine), over(oursFew, engineFew)]
  const spent = (ours.spent / engine.spent / (oursFew.spent / engineFew.spent)).toFixed(2)
  return {
    name: 'grep, 10,000 matches against 100, each × rg',
    goal: 1,
    ratio: ofMany / ofFew,
    detail: `${ofMany.toFixed(2)} against ${ofFew.toFixed(2)}; by processor time ${spent}`,
  }
}

/** A pattern that holds a word every match must hold, one that holds an operator, and one without either, over sources that no rule ignores. */
async function structurals(search) {
  const path = 'node_modules/zod/src'
  const both = (pattern) => [
    search({ action: 'structural', lang: 'ts', pattern, path }),
    () => runs(astGrep, ['run', '--json=stream', '--lang=ts', `--pattern=${pattern}`, '--no-ignore=vcs', path], root),
  ]
  return [
    await versus('structural, with a word', 0.35, ...both('globalRegistry.$M($$$A)'), 9),
    await versus('structural, with an operator', 1.05, ...both('$A ?? $B'), 9),
    await versus('structural, without', 1.05, ...both('$F($A, $B)'), 9),
  ]
}

/** How long after it was cancelled the program behind a search still runs. */
async function cancelled(search) {
  if (process.platform !== 'linux') return []
  const inputs = {
    rg: { action: 'grep', pattern: '(\\w+\\W+){30}zzqqy', path: 'node_modules' },
    'ast-grep': { action: 'structural', lang: 'ts', pattern: '$A ?? $B', path: 'node_modules/zod/src' },
  }
  const rows = []
  for (const [program, input] of Object.entries(inputs)) {
    const times = []
    for (let round = 0; round < 10; round++) {
      const abort = new AbortController()
      const call = search(input, { signal: abort.signal })().then(
        () => Promise.reject(new Error('it was faster than the abort')),
        () => {},
      )
      while (!children().includes(program)) await wait(1)
      await wait(20)
      const start = performance.now()
      abort.abort()
      // The shell that ends programs after a crash of ours stays.
      while (children().includes(program)) await wait(1)
      times.push(performance.now() - start)
      await call
    }
    rows.push({
      name: `cancelled, until ${program} is gone`,
      goal: 100,
      ratio: Math.max(...times),
      unit: 'ms',
      detail: `the longest of ${times.length}; median ${median(times).toFixed(1)} ms`,
    })
  }
  return rows
}

/** The names of the programs that this process started and that have not ended. */
function children() {
  const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean)
  return pids.flatMap((pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    } catch {
      return []
    }
  })
}

/** A piece of code in the languages that only ast-grep's program outlines, each with its number in its names. */
const written = {
  Python: [
    'others.py',
    (at) =>
      `class Thing${at}(Base):\n    size: int = ${at}\n\n    def __init__(self, a, b=2):\n        self.a = [x for x in range(b) if x % a]\n\ndef make_${at}(a: int) -> Thing${at}:\n    return Thing${at}(a) if a > 3 else None\n`,
  ],
  Rust: [
    'others.rs',
    (at) =>
      `pub struct Thing${at} {\n    pub size: usize,\n}\nimpl Thing${at} {\n    pub fn new(size: usize) -> Self { Self { size: size + 1 } }\n}\npub enum Kind${at} { A, B(u32) }\nfn make_${at}(a: usize) -> Thing${at} { Thing${at}::new(a) }\n`,
  ],
  Go: [
    'others.go',
    (at) =>
      `${at === 0 ? 'package main\n\n' : ''}type Thing${at} struct {\n\tSize int\n}\n\nfunc (t *Thing${at}) Total() int {\n\treturn t.Size + len("x")\n}\n\nfunc New${at}(size int) *Thing${at} { return &Thing${at}{Size: size} }\n`,
  ],
}

/** A real file of several thousand lines, some of other languages and the sources of this program, drawn for the first time and again. */
async function outlines() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const file = 'lib.es5.d.ts'
  try {
    mkdirSync(join(folder, 'plugins'))
    cpSync(join(root, 'plugins'), join(folder, 'plugins'), { recursive: true })
    cpSync(join(root, 'node_modules/typescript/lib', file), join(folder, file))
    const sources = readdirSync(join(folder, 'plugins'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
    const native = (path) => () =>
      runs(astGrep, ['outline', '--json=stream', '--view', 'expanded', '--items', 'all', path], folder)
    for (const [name, piece] of Object.values(written))
      writeFileSync(join(folder, name), Array.from({ length: 60 }, (_, at) => piece(at)).join('\n'))
    let age = 10
    // Another time of change makes it another version, which no cache knows.
    const fresh = (paths, run) => () => {
      const time = new Date(Date.now() - 60_000 * age++)
      for (const path of paths) utimesSync(path, time, time)
      return run()
    }
    return await on(folder, async (search) => {
      const one = search({ action: 'outline', path: file })
      const all = search({ action: 'outline', path: 'plugins', max_results: 2000 })
      return [
        await versus('outline, first', 0.6, fresh([join(folder, file)], one), native(file)),
        ...(await inLanguages((name) => [
          fresh([join(folder, name)], search({ action: 'outline', path: name })),
          native(name),
        ])),
        await alone('outline, again', 1, one),
        await versus('outline of a directory, first', 0.8, fresh(sources, all), native('plugins'), 9),
        await versus('outline of a directory, again', 0.1, all, native('plugins'), 9),
      ]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function inLanguages(both) {
  const rows = []
  for (const [language, [name]] of Object.entries(written))
    rows.push(await versus(`outline, first, ${language}`, 1, ...both(name), 25))
  return rows
}

/** What every kind of search leaves in memory, in a process of its own. */
async function kept() {
  const script = `
    import { createKernel } from 'vtcode'
    const kernel = await createKernel({ workspace: ${JSON.stringify(root)}, mode: 'full-auto' })
    const search = (input) => kernel.call('unified_search', input)
    await search({ action: 'agent' })
    const before = process.memoryUsage.rss()
    for (const input of [
      { action: 'grep', pattern: 'function', path: 'node_modules', max_results: 10000 },
      { action: 'list', mode: 'recursive', path: 'node_modules', max_results: 5000 },
      { action: 'outline', path: '.', max_results: 2000 },
      { action: 'outline', path: 'node_modules/typescript/lib/typescript.d.ts', view: 'full' },
      { action: 'structural', lang: 'ts', pattern: '$A ?? $B', path: 'node_modules/zod/src', max_results: 10000 },
      { action: 'structural', lang: 'ts', pattern: 'globalRegistry.$M($$$A)', path: 'node_modules/zod/src' },
    ]) {
      const result = await search(input)
      if (!result.ok) throw new Error(result.error.message)
    }
    console.log((process.memoryUsage.rss() - before) / 1e6)
    await kernel.close()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
  })
  return {
    name: 'six searches in a row, memory kept',
    goal: 150,
    ratio: Number(stdout),
    unit: 'MB',
    detail: 'grown resident set of a process of their own, nothing collected on purpose',
  }
}
