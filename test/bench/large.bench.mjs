// Searches at the size of real repositories, each on a generated tree of 22,000 files and on one of 2,400: what may grow with a tree is what
// grows with it in ripgrep, whose output a Node process reads and drops. Before a list or a grep is measured its answer is held against ripgrep's own.
import { spawnSync } from 'node:child_process'
import { utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { createKernel } from 'vtcode'
import { runs, versus } from './measure.mjs'
import { bigTree } from './tree.mjs'

const rules = ['--no-config', '--no-require-git', '--no-ignore-global']
const rounds = 9

export default async function bench() {
  const [large, small] = [await on('large'), await on('small')]
  return large.map(({ detail, ...row }, at) => ({
    ...row,
    detail: `22,201 files: ${detail}; 2,443 files: ${small[at].ratio.toFixed(2)}, ${small[at].detail}; grows by ${(row.ratio / small[at].ratio).toFixed(2)}`,
  }))
}

async function on(size) {
  const workspace = bigTree(size)
  const kernel = await createKernel({ workspace, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
  const search = (input) => async () => {
    const result = await kernel.call('unified_search', input, { session: 'bench' })
    if (!result.ok) throw new Error(result.error.message)
  }
  const rg =
    (...args) =>
    () =>
      runs(rgPath, [...rules, ...args], workspace)
  const same = equality(kernel, workspace)
  const list = async (name, goal, input, ...args) => {
    await same.lists({ action: 'list', mode: 'recursive', ...input }, args)
    return versus(name, goal, search({ action: 'list', mode: 'recursive', ...input }), rg('--files', ...args), rounds)
  }
  const grep = async (name, input) => {
    const args = ['--crlf', '--engine', 'auto', '--smart-case', '-e', input.pattern, './']
    await same.greps({ action: 'grep', ...input }, args)
    return versus(`grep, ${name}`, 1.15, search({ action: 'grep', ...input }), rg('--json', ...args), rounds)
  }
  try {
    return [
      await list('list files', 1.3, { entry_type: 'file' }),
      await list('list files, globs', 1.3, { entry_type: 'file', globs: ['**/*.ts'] }, '-g', '**/*.ts'),
      await list('list with directories and links', 1.8, {}),
      await grep('200 of many', { pattern: 'export function', max_results: 200 }),
      await grep('all of 10,000', {
        pattern: size === 'large' ? '= walk\\.[st]' : '(walk|word)\\.[a-z]+',
        max_results: 10_000,
      }),
      await grep('nothing', { pattern: 'zzqqy' }),
      await grep('a regular expression', { pattern: 'set[a-z]+\\(walk\\w*: string', max_results: 200 }),
      ...(await bySyntax(workspace, search)),
    ]
  } finally {
    await kernel.close()
  }
}

/** Structural searches and outlines against ast-grep, the slow ones three times. */
async function bySyntax(workspace, search) {
  const astGrep = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath()
  const named = 'function walkworker($$$A): string { $$$B }'
  const any = { pattern: 'if ($A) { $$$B }', globs: '**/test/**/*.ts' }
  const structural = (input) => search({ action: 'structural', lang: 'ts', ...input })
  const run =
    (pattern, ...more) =>
    () =>
      runs(astGrep, ['run', '--json=stream', '--lang=ts', `--pattern=${pattern}`, ...more, '.'], workspace)
  // The first two thousand files of the tree, which are all that one answer draws.
  const files = spawnSync(rgPath, [...rules, '--files', '--sort=path', '-g', '*.{ts,js,md}'], {
    cwd: workspace,
    encoding: 'utf8',
    maxBuffer: 1e9,
  })
    .stdout.split('\n')
    .slice(0, 2000)
  let age = 10
  const outline = () => {
    // Another time of change makes it another version, which no cache knows.
    const time = new Date(Date.now() - 60_000 * age++)
    for (const file of files) utimesSync(join(workspace, file), time, time)
    return search({ action: 'outline', path: '.', max_results: 2000 })()
  }
  return [
    await versus('structural, with a word', 0.35, structural({ pattern: named }), run(named), 3, 1),
    await versus('structural, without', 1.05, structural(any), run(any.pattern, `--globs=${any.globs}`), 3, 1),
    await versus(
      'outline of a directory, first',
      0.8,
      outline,
      () => runs(astGrep, ['outline', '--json=stream', '--view', 'expanded', '--items', 'all', ...files], workspace),
      3,
      1,
    ),
  ]
}

/** Whether an answer is what the plain tool says: the same files and lines, in path order, and the same totals. Throws where it is not. */
function equality(kernel, workspace) {
  const said = (file, args) => spawnSync(file, args, { cwd: workspace, encoding: 'utf8', maxBuffer: 2 ** 30 }).stdout
  const plain = (...args) => said(rgPath, [...rules, ...args])
  const ask = async (input) => {
    const { output, error } = await kernel.call(
      'unified_search',
      { ...input, response_format: 'detailed' },
      { session: 'bench' },
    )
    if (!output) throw new Error(error.message)
    return output
  }
  /** What all pages hold, or as many of them as hold the first `most`. */
  const pages = async (input, of, most = Infinity) => {
    const found = []
    for (let next = input; next && found.length < most;) {
      const output = await ask(next)
      found.push(...of(output))
      next = output.next?.input
    }
    return found
  }
  const agree = (input, ours, theirs) => {
    const at = theirs.findIndex((item, index) => item !== ours[index])
    const found =
      ours.length !== theirs.length
        ? `${ours.length} of ${theirs.length}`
        : at >= 0 && `${ours[at]}, not ${theirs[at]}, at ${at}`
    if (found) throw new Error(`${JSON.stringify(input)} is not answered as ripgrep answers it: ${found}`)
  }
  return {
    async lists(input, args) {
      const files = plain('--files', '--null', ...args)
        .split('\0')
        .filter(Boolean)
        .sort(bySegments)
      const items = await pages({ ...input, max_results: 5000 }, (output) => output.items)
      agree(
        input,
        items.flatMap(({ path, type }) => (type === 'file' ? [path] : [])),
        files,
      )
      if (input.entry_type === 'file') return
      const [folders, links] = ['d', 'l'].map((kind) =>
        said('find', ['.', '-mindepth', '1', '-name', '.*', '-prune', '-o', '-type', kind, '-print']),
      )
      const kept = (paths) =>
        paths
          .split('\n')
          .filter(Boolean)
          .map((path) => path.slice(2))
          .filter((path) => !/(^|\/)(generated|dist|node_modules)(\/|$)/.test(path))
          .sort(bySegments)
      agree(
        input,
        items.flatMap(({ path, type }) => (type === 'dir' ? [path] : [])),
        kept(folders),
      )
      agree(
        input,
        items.flatMap(({ path, type }) => (type === 'symlink' ? [path] : [])),
        kept(links),
      )
      agree(
        input,
        items.map(({ path }) => path),
        items.map(({ path }) => path).sort(bySegments),
      )
    },
    async greps(input, args) {
      const byFile = new Map()
      for (const line of plain('--line-number', '--no-heading', '--with-filename', '--null', ...args).split('\n')) {
        const cut = line.indexOf('\0')
        if (cut < 0) continue
        const file = line.slice(2, cut)
        byFile.set(file, [...(byFile.get(file) ?? []), `${file}:${line.slice(cut + 1)}`])
      }
      const lines = [...byFile].sort(([a], [b]) => bySegments(a, b)).flatMap(([, found]) => found)
      const { total_matches, files_with_matches } = await ask({ ...input, count: 'exact' })
      agree(input, [total_matches, files_with_matches], [lines.length, byFile.size])
      // Of very many the first pages are enough.
      const most = Math.max(5 * input.max_results || 0, 1000)
      const found = await pages(
        input,
        (output) => output.matches.map(({ file, line_number, text }) => `${file}:${line_number}:${text}`),
        most,
      )
      agree(input, found.slice(0, most), lines.slice(0, most))
    },
  }
}

/** In path order: segment by segment. */
const bySegments = (a, b) => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1)
