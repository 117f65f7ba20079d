// Compares `unified_search outline` with what the languages themselves read, on files of real git directories:
// `node test/run/public_outlines.mjs [--count=50] [--fallback] [--list] LANGUAGE=GIT_DIRECTORY…`, after `npm run build`.
// Counts names that an outline lacks or invents; types inside others are named by paths, locals are left out.
// Needs git and the programs of the languages: python3, go, ruby, php, a JDK and rustc.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { createKernel } from 'vtcode'

const { values, positionals } = parseArgs({
  options: {
    count: { type: 'string', default: '50' },
    fallback: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const oracles = join(import.meta.dirname, 'outline_oracles')
const readJson = (text) =>
  text
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const run = (file, args, cwd, input = '') =>
  readJson(
    execFileSync(file, args, { cwd, input, encoding: 'utf8', maxBuffer: 1e9, stdio: ['pipe', 'pipe', 'ignore'] }),
  )

const languages = {
  javascript: {
    extensions: ['js'],
    list: (paths, cwd) => run('node', [join(oracles, 'typescript.mjs'), ...paths], cwd),
  },
  typescript: {
    extensions: ['ts'],
    list: (paths, cwd) => run('node', [join(oracles, 'typescript.mjs'), ...paths], cwd),
  },
  python: { extensions: ['py'], list: (paths, cwd) => run('python3', [join(oracles, 'python.py'), ...paths], cwd) },
  go: { extensions: ['go'], list: (paths, cwd) => run('go', ['run', join(oracles, 'go.go')], cwd, paths.join('\n')) },
  ruby: { extensions: ['rb'], list: (paths, cwd) => run('ruby', [join(oracles, 'ruby.rb'), ...paths], cwd) },
  php: { extensions: ['php'], list: (paths, cwd) => run('php', [join(oracles, 'php.php'), ...paths], cwd) },
  java: { extensions: ['java'], list: (paths, cwd) => run('java', [join(oracles, 'Java.java'), ...paths], cwd) },
  rust: { extensions: ['rs'], list: (paths, cwd) => run('node', [join(oracles, 'rust.mjs'), ...paths], cwd) },
}

/** Writes files of the newest commit, evenly chosen, under names without folders. */
function writeFiles(directory, { extensions }, folder) {
  const git = (args) => execFileSync('git', ['--git-dir', directory, ...args], { maxBuffer: 1e9 })
  const paths = git(['ls-tree', '-r', '-z', '--name-only', 'HEAD'])
    .toString()
    .split('\0')
    .filter((path) => extensions.includes(path.split('.').at(-1)) && !path.endsWith('.d.ts'))
  const step = Math.max(1, paths.length / Number(values.count))
  return Array.from({ length: Math.min(paths.length, Number(values.count)) }, (_, index) => {
    const path = paths[Math.floor(index * step)]
    const own = join(String(index), basename(path))
    mkdirSync(join(folder, dirname(own)))
    writeFileSync(join(folder, own), git(['show', `HEAD:${path}`]))
    return own
  })
}

const withoutArguments = (name) => name.replace(/<.*>/s, '').replace(/^.*::/, '')
/** Returns the names of an outline as the other readers write them. */
function listNames(items, language) {
  return items
    .filter(
      ({ isImport, name, kind }) =>
        !isImport && !/\.prototype\./.test(name) && !(kind === 'module' && /^exports$|^['"]/.test(name)),
    )
    .flatMap(({ name, kind, members, astKind }) => {
      const isProperty = language === 'javascript' && kind === 'method'
      const own = isProperty ? name.replace(/^.*\./, '') : language === 'rust' ? withoutArguments(name) : name
      const inner = members.map(
        (member) => `${own}.${language === 'rust' ? member.name.replace(/<[^.]*>/g, '') : member.name}`,
      )
      return astKind === 'impl_item' ? inner : [own, ...inner]
    })
}

const without = (names, others) => {
  const known = new Set(others)
  return [...new Set(names)].filter((name) => !known.has(name))
}

let isOver = false
for (const [language, directory] of positionals.map((one) => one.split('='))) {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-outlines-'))
  const folder = join(root, 'files')
  mkdirSync(folder)
  const paths = writeFiles(directory, languages[language], folder)
  if (values.fallback) process.env.VTCODE_AST_GREP_BIN = join(root, 'missing')
  const kernel = await createKernel({ workspace: folder, home: join(root, 'home'), env: {} })
  const counts = { files: paths.length, 'with syntax errors': 0, names: 0, missing: 0, invented: 0 }
  const wanted = new Map(languages[language].list(paths, folder).map(({ path, names }) => [path, names]))
  for (const path of paths) {
    const input = { action: 'outline', path, items: 'all', view: 'full', response_format: 'detailed' }
    const result = await kernel.call('unified_search', input)
    if (!result.ok) throw new Error(`${path}: ${result.error.message}`)
    // What the grammar cannot read is reported as such.
    if ((result.notices ?? []).some(({ code }) => code === 'VT_SEARCH_PARSE')) {
      counts['with syntax errors']++
      continue
    }
    const named = listNames(result.output.files[0]?.items ?? [], language)
    const missing = without(wanted.get(path), named)
    const invented = without(named, wanted.get(path))
    counts.names += new Set(wanted.get(path)).size
    counts.missing += missing.length
    counts.invented += invented.length
    if (values.list && missing.length + invented.length > 0)
      console.log(`${path}: missing ${missing.join(' ')}; invented ${invented.join(' ')}`)
  }
  await kernel.close()
  rmSync(root, { recursive: true })
  const share = (100 * (counts.missing + counts.invented)) / counts.names
  isOver ||= share > 1
  console.log(language, basename(dirname(directory)), JSON.stringify(counts), `${share.toFixed(2)} %`)
}
process.exit(isOver ? 1 : 0)
