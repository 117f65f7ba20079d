import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rgPath } from '@vscode/ripgrep'
import { bootKernel, type Booted } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { holdForFile } from '../../support/held.js'
import { fc, runs } from '../../support/property.js'

// Random calls over small real trees. Where an answer has no result but ripgrep without any rule, or find, has one, the answer
// has to list what it left out.

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Parts of this project with what projects have: ignored, hidden and excluded files, routes, logs with NUL bytes. */
const trees: [name: string, folders: string[]][] = [
  ['documents', ['docs', 'manifests/unified_search']],
  ['libraries', ['plugins/lib/search', 'plugins/lib/grep']],
  ['settings', ['core/config', 'manifests/grep_search']],
  ['workspace', ['core/workspace', 'core/text']],
  ['tests', ['test/plugins/grep_search', 'test/house']],
  ['schemas', ['core/schema', 'manifests/schema']],
]

async function plant(folders: string[]): Promise<Booted> {
  const ws = await bootKernel()
  for (const folder of folders) cpSync(join(root, folder), join(ws.root, folder), { recursive: true })
  const extra: Record<string, string> = {
    '.gitignore': 'dist/\n*.log\n/generated\n',
    'dist/bundle.js': 'function bundledOnly() {}\n',
    'generated/api.ts': 'export const generatedOnly = 1\n',
    'run.log': 'loggedOnly\n\0second\n',
    '.github/workflows/check.yml': 'jobs: hiddenOnly\n',
    '.env': 'SECRETLESS=hiddenToo\n',
    'node_modules/dep/index.js': 'module.exports = dependencyOnly\n',
    'app/[slug]/page.tsx': 'export default function bracketOnly() {}\n',
    'notes/nul.txt': 'before\0after nulOnly\n',
  }
  for (const [name, text] of Object.entries(extra)) {
    mkdirSync(dirname(join(ws.root, name)), { recursive: true })
    writeFileSync(join(ws.root, name), text)
  }
  execFileSync('git', ['init', '-q'], { cwd: ws.root })
  return ws
}

const words = [
  ...[
    'bundledOnly',
    'generatedOnly',
    'loggedOnly',
    'hiddenOnly',
    'hiddenToo',
    'dependencyOnly',
    'bracketOnly',
    'nulOnly',
  ],
  ...['foo\\|nulOnly', '\\(hiddenOnly\\)', '(?s)jobs.*Only', 'zzqqxx', 'export', 'second', 'Copyright'],
]
const globs = [
  ...[
    '**',
    '*.ts',
    '*.js',
    './**',
    'dist',
    'dist/**',
    '.github/**',
    'app/[slug]/**',
    '*.log',
    '.env*',
    'generated/*.ts',
  ],
  ...['docs', 'lib/**', '*.xyz', 'node_modules/**', '!*.md', '**/*.yml', '*.ts,*.tsx'],
]
const names = [
  'bundle',
  'api.ts',
  '*.log',
  'check.yml',
  '.env',
  'page.tsx',
  '[slug]',
  'index.js',
  'none.zz',
  '*.yaml',
  'dep',
]
const path = fc.constantFrom('.', '.', 'app', 'notes', 'dist', '.github', 'node_modules')

const grepCall = fc.record({
  action: fc.constant('grep'),
  pattern: fc.constantFrom(...words),
  path,
  globs: fc.option(fc.array(fc.constantFrom(...globs), { minLength: 1, maxLength: 2 }), { nil: undefined }),
  include_hidden: fc.boolean(),
})
const listCall = fc.record({
  action: fc.constant('list'),
  mode: fc.constantFrom('find_name', 'list', 'recursive'),
  name_pattern: fc.constantFrom(...names),
  path,
})
const contentCall = fc.record({
  action: fc.constant('list'),
  mode: fc.constant('find_content'),
  content_pattern: fc.constantFrom(...words),
  path,
})

/** Lists the files below a path that have a text and that the globs select, by ripgrep without ignore rules. */
function listWithText(ws: Booted, pattern: string, below: string, chosen: string[] = []): string[] {
  const read = pattern.replaceAll('\\|', '|').replaceAll(/\\([()])/g, '$1')
  const flags = chosen.flatMap((glob) => ['-g', glob.replace(/^\.\//, '').replaceAll(/[[\]]/g, '\\$&')])
  const args = ['-uuu', '--multiline', '--files-with-matches', ...flags, '-e', read, './']
  return spawnSync(rgPath, args, { cwd: join(ws.root, below), encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
}
/** Lists the entries below a path that have a name, by find. */
function listWithName(ws: Booted, name: string, below: string): string[] {
  const wanted = /[*?]/.test(name) ? name : `*${name.replaceAll('[', '\\[')}*`
  const args = ['.', '-mindepth', '1', '-iname', wanted]
  return execFileSync('find', args, { cwd: join(ws.root, below), encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)
}

const totalOf = ({ output }: any): number => output.total_matches ?? output.total
const noticesOf = ({ notices = [] }: any): string => notices.map(({ message }: any) => message).join(' ')

describe.each(rounds(trees.slice(0, 2), trees))('unified_search in a tree of %s', (_, folders) => {
  it('finds what ripgrep and find find, lists an excluded folder, or has a next call that finds it', async () => {
    const ws = holdForFile(await plant(folders))
    await fc.assert(
      fc.asyncProperty(fc.oneof(grepCall, listCall, contentCall), async (input) => {
        const { globs: chosen, ...rest } = { globs: undefined, ...input }
        let result: any = await ws.call('unified_search', { ...rest, ...(chosen && { globs: chosen }) })
        expect(result.ok, JSON.stringify(result)).toBe(true)
        if (totalOf(result) > 0) return
        const text = 'pattern' in input ? input.pattern : 'content_pattern' in input ? input.content_pattern : undefined
        const all =
          'name_pattern' in input
            ? listWithName(ws, input.name_pattern, input.path)
            : listWithText(ws, text!, input.path, chosen)
        let said = noticesOf(result)
        for (let step = 0; step < 4 && totalOf(result) === 0 && result.output.next; step++) {
          result = await ws.call(result.output.next.tool, result.output.next.input)
          said += noticesOf(result)
        }
        if (totalOf(result) > 0) return
        const isNamed = (part: string): boolean => /^(?:\.git|\.vtcode|node_modules)$/.test(part) && said.includes(part)
        expect(
          all.filter((file) => !file.split('/').some(isNamed)),
          `${JSON.stringify(input)}: ${said}`,
        ).toEqual([])
      }),
      { numRuns: runs(rounds(20, 50)) },
    )
  })
})
