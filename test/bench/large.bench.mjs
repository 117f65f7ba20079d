// Searches at the size of real repositories, each on a generated tree of 22,000 files and on one of 2,400: what may grow with a tree is what
// grows with it in ripgrep, whose output a Node process reads and drops.
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
  const rg = (...args) => () => runs(rgPath, [...rules, ...args], workspace)
  const list = (name, goal, input, ...args) => versus(name, goal, search({ action: 'list', mode: 'recursive', ...input }), rg('--files', ...args), rounds)
  const grep = (name, input) =>
    versus(`grep, ${name}`, 1.15, search({ action: 'grep', ...input }), rg('--json', '--crlf', '--engine', 'auto', '--smart-case', '-e', input.pattern, './'), rounds)
  try {
    return [
      await list('list files', 1.3, { entry_type: 'file' }),
      await list('list files, globs', 1.3, { entry_type: 'file', globs: ['**/*.ts'] }, '-g', '**/*.ts'),
      await list('list with directories and links', 1.8, {}),
      await grep('200 of many', { pattern: 'export function', max_results: 200 }),
      await grep('all of 10,000', { pattern: size === 'large' ? '= walk\\.[st]' : '(walk|word)\\.[a-z]+', max_results: 10_000 }),
      await grep('nothing', { pattern: 'zzqqy' }),
      await grep('a regular expression', { pattern: 'set[a-z]+\\(walk\\w*: string', max_results: 200 }),
    ]
  } finally {
    await kernel.close()
  }
}
