// Structural searches of pages with scripts against the engine, and the outline without it.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createKernel } from 'vtcode'
import { median, runs, versus } from './measure.mjs'
import { inFolder } from './scene.mjs'

const astGrep = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath()
const pages = 500
const corpus = [
  'ajv/lib',
  'zod/src',
  'yaml/dist',
  'tapable/lib',
  'picomatch/lib',
  'commander/lib',
  'undici/lib',
  'execa/lib',
  'minimatch/dist',
  'web-tree-sitter',
]

export default () => inFolder(async (folder) => [await searched(folder), ...(await outlined(folder)), await agreeing()])

/** 500 pages of some 20 KB, each with scripts and styles between its markup. */
async function searched(folder) {
  const workspace = join(folder, 'pages')
  mkdirSync(workspace)
  const part = (at) =>
    `<section id="s${at}"><p class="a">${'text and more text '.repeat(30)}</p></section>\n<script>function run${at}(a, b) { console.log(a ?? b); return [a, b].map((one) => one + ${at}) }</script>\n<style>.a${at} { color: red; margin: ${at}px }</style>\n`
  const page = Array.from({ length: 25 }, (_, at) => part(at)).join('')
  for (let at = 0; at < pages; at++)
    writeFileSync(join(workspace, `p${at}.html`), `<!doctype html>\n<body>\n${page}</body>\n`)
  const kernel = await createKernel({ workspace, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
  const ours = async () => {
    const result = await kernel.call(
      'unified_search',
      { action: 'structural', lang: 'js', pattern: '$A ?? $B' },
      { session: 'bench' },
    )
    if (!result.ok || result.output.total_matches !== 25 * pages) throw new Error(JSON.stringify(result).slice(0, 300))
  }
  try {
    return await versus(
      `structural, ${pages} pages`,
      1.05,
      ours,
      () => runs(astGrep, ['run', '--json=stream', '--lang=js', '--pattern=$A ?? $B', '.'], workspace),
      9,
    )
  } finally {
    await kernel.close()
  }
}

/** Of the names that ast-grep outlines in published packages, the share that tree-sitter does not. */
async function agreeing() {
  const workspace = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
  const kernel = await createKernel({ workspace, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
  const named = async () => {
    const found = new Map()
    for (const name of corpus) {
      const result = await kernel.call('unified_search', {
        action: 'outline',
        path: `node_modules/${name}`,
        view: 'full',
        items: 'structure',
        response_format: 'detailed',
        max_results: 2000,
      })
      if (!result.ok) throw new Error(result.error.message)
      for (const { path, lang, items } of result.output.files)
        if (!['Json', 'Markdown'].includes(lang))
          found.set(
            path,
            items.map((item) => item.name),
          )
    }
    return found
  }
  try {
    const theirs = await named()
    process.env.VTCODE_AST_GREP_BIN = '/nonexistent/ast-grep'
    const ours = await named()
    let [names, lost] = [0, 0]
    for (const [path, all] of theirs) {
      const left = ours.get(path)
      // What the caps of one answer left out of the other is no disagreement; ast-grep calls `export { a }` a module of the name exports.
      for (const name of left ? all.filter((one) => one !== 'exports') : []) {
        names++
        const at = left.indexOf(name)
        if (at < 0) lost++
        else left.splice(at, 1)
      }
    }
    return {
      name: 'outline, names that ast-grep finds and tree-sitter does not',
      goal: 1,
      ratio: (100 * lost) / names,
      unit: '%',
      detail: `${lost} of ${names} names in ${corpus.length} published packages`,
    }
  } finally {
    delete process.env.VTCODE_AST_GREP_BIN
    await kernel.close()
  }
}

/** The outline of a file by tree-sitter: the first of a program, which loads the parser and the grammar, and again. */
async function outlined(folder) {
  const workspace = join(folder, 'outline')
  mkdirSync(workspace)
  writeFileSync(
    join(workspace, 'a.ts'),
    Array.from(
      { length: 200 },
      (_, at) => `export function run${at}(a: number): number {\n  return a + ${at}\n}\n`,
    ).join(''),
  )
  const script = `
    import { createKernel } from ${JSON.stringify(import.meta.resolve('vtcode'))}
    const kernel = await createKernel({ workspace: ${JSON.stringify(workspace)}, mode: 'full-auto' })
    await kernel.call('unified_search', { action: 'list' })
    const times = []
    for (let round = 0; round < 6; round++) {
      const start = performance.now()
      const result = await kernel.call('unified_search', { action: 'outline', path: 'a.ts', view: 'names' }, { session: 's' + round })
      times.push(performance.now() - start)
      if (!result.ok || result.output.backend !== 'tree-sitter') throw new Error(JSON.stringify(result).slice(0, 300))
    }
    console.log(JSON.stringify(times))
    await kernel.close()`
  // A thread would inherit the flags of a script on the command line.
  const program = join(folder, 'outline.mjs')
  writeFileSync(program, script)
  const all = []
  for (let round = 0; round < 7; round++) {
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      env: { ...process.env, VTCODE_AST_GREP_BIN: join(folder, 'none') },
    })
    all.push(JSON.parse(stdout))
  }
  return [
    {
      name: 'outline without ast-grep, first',
      goal: 250,
      ratio: median(all.map(([first]) => first)),
      unit: 'ms',
      detail: 'median of 7 processes',
    },
    {
      name: 'outline without ast-grep, again',
      goal: 5,
      ratio: median(all.flatMap(([, ...again]) => again)),
      unit: 'ms',
      detail: 'median of 35',
    },
  ]
}
