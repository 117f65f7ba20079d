// Published packages of other programs, installed from npm into homes of their own; nothing of them is started.
// Run by hand: `node test/conformance/packages.mjs [name…]`; it writes the section `packages` of docs/compatibility.md, where a package that is not tried this time keeps its row.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rowsIn, table, writeSection } from './table.mjs'

const bin = fileURLToPath(new URL('../../dist/core/bin.cjs', import.meta.url))

/** Found by what they say of themselves in a list of the registry's packages. */
const packages = `
  claude-flow cc-sdd memorix context-mode selfish-pipeline oh-my-til pinion-os claude-code-plugins @torka/claude-qol @torka/claude-workflows @plaited/development-skills
  @houseofwolvesllc/claude-scrum-skill claude-dev-environment-setup appsheet-project faf-cli ecc-universal agent-reviews atris @domdhi/claude-code-tts spring-boot4-skill
  @n24q02m/mnemo-plugin design-clone mcp-ssh-manager skill-creator @ckelsoe/claude-skill-prompt-architect @coo-quack/sensitive-canary @daemux/store-automator @dev-mn/ignite gspec
  dantelabs-agentic-school @orchestra-research/ai-research-skills @superdesign/cli @nextsparkjs/ai-workflow oh-my-ag @apogeelabs/the-agency claude-cli-advanced-starter-pack agentvibes
  @postman/postman-mcp-server claude-db-mcp-query-skill oh-my-claude-sub-agents cc-templates miyabi @wednesday-solutions-eng/ai-agent-skills @pocketagent/paw-skills
  @n8n-as-code/skills agentic-team-templates mcp-excalidraw-server skill-check @umituz/react-native-design-system @salesforce/webapp-template-feature-react-chart-experimental
  pi-subagents pi-web-access pi-mcp-adapter @agentuity/pi pi-acp pi-prompt-template-model pi-aliases pi-mermaid @psg2/pi-transcript @anthropic-ai/mcpb @google/gemini-cli
  chrome-devtools-mcp @upstash/context7-mcp @sentry/mcp-server firecrawl-mcp @sveltejs/mcp nx-mcp @apify/actors-mcp-server n8n-mcp @mongodb-js/mongodb-mcp-server mongodb-mcp-server tavily-mcp
`
  .trim()
  .split(/\s+/)

/** Of packages that hold many packages the first are tried. */
const mostPlaces = 4

const run = (file, args, { env = process.env, cwd = tmpdir() } = {}) =>
  new Promise((resolve) => {
    execFile(file, args, { env, cwd, timeout: 240_000, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
    )
  })

const json = (file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''))
  } catch {
    return existsSync(file) ? {} : undefined
  }
}
const manifests = [
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
  '.claude-plugin/marketplace.json',
]

/** Returns the kind of package in a folder, if any. */
function kindOf(folder) {
  const found = manifests.filter((file) => existsSync(join(folder, file)))
  const bundle = json(join(folder, 'manifest.json'))
  const code = json(join(folder, 'package.json'))
  if (bundle && ('manifest_version' in bundle || 'dxt_version' in bundle) && 'server' in bundle)
    found.push('manifest.json')
  if (code && ('pi' in code || 'omp' in code)) found.push('package.json')
  if (existsSync(join(folder, 'plugin.json'))) found.push('plugin.json')
  if (existsSync(join(folder, 'SKILL.md'))) found.push('SKILL.md')
  if (
    found.length === 0 &&
    existsSync(join(folder, 'skills')) &&
    readdirSync(join(folder, 'skills')).some((name) => existsSync(join(folder, 'skills', name, 'SKILL.md')))
  )
    found.push('skills/')
  if (found.length === 0 && existsSync(join(folder, 'hooks/hooks.json'))) found.push('hooks/')
  return found
}

/** The folders of a package that are packages of their own, outermost only. */
function placesIn(root, depth = 0) {
  const kinds = kindOf(root)
  const isList = kinds.length === 1 && kinds[0] === '.claude-plugin/marketplace.json'
  if (kinds.length > 0 && !isList) return [root]
  const below =
    depth > 4
      ? []
      : readdirSync(root, { withFileTypes: true })
          .filter(
            (entry) =>
              entry.isDirectory() && !['node_modules', '.git', 'test', 'tests', 'fixtures'].includes(entry.name),
          )
          .flatMap(({ name }) => placesIn(join(root, name), depth + 1))
  return isList ? [root, ...below] : below
}

const count = (number, word) => (number === 0 ? [] : [`${number} ${word}${number === 1 ? '' : 's'}`])
const short = (text, most = 300) => (text.length > most ? `${text.slice(0, most - 1)}…` : text).replaceAll(tmpdir(), '')

/** Adds one and says what came of it. */
async function added(source, name, home) {
  const env = { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' }
  const vtcode = (...args) => run(process.execPath, [bin, ...args], { env, cwd: join(home, 'ws') })
  const { code, stderr } = await vtcode('plugins', 'add', source, '--name', name, '--yes')
  if (code !== 0)
    return {
      failed: stderr
        .trim()
        .split('\n')
        .at(-1)
        .replace(/^.*?error:? /i, '')
        .replaceAll(home, '~'),
    }
  const info = JSON.parse((await vtcode('plugins', 'show', name, '--json')).stdout)
  const of = (kind) => info.contributions.filter((one) => one.kind === kind && one.state === 'active')
  const skills = JSON.parse((await vtcode('skills', 'list', '--all', '--json')).stdout).skills.filter(
    ({ id }) => id.startsWith(`${name}:`) || id.startsWith(`${name}/`),
  )
  const commands = skills.filter(({ metadata = {} }) => metadata.source !== undefined)
  const first = skills.find(({ state }) => state === 'active')
  const loaded = first && (await vtcode('call', 'load_skill', '--name', first.id))
  const ready = info.contributions.filter(({ reason = '' }) => /nobody needs them now/.test(reason))
  const works = [
    ...count(skills.length - commands.length, 'skill'),
    ...count(commands.length, 'command'),
    ...count(of('action').length + ready.length, 'server'),
    ...count(of('hooks').length, 'hook file'),
    ...count(of('policy').length, 'policy'),
    ...count(info.agents.length, 'agent'),
    ...count(info.instructions.length, 'instruction file'),
  ]
  const waiting = info.contributions
    .filter((one) => one.state !== 'active' && !ready.includes(one))
    .map(({ id, reason = '' }) => `${id.split(':').at(-1)}: ${reason}`)
  const left = [
    ...waiting,
    ...info.diagnostics
      .filter(({ code: kind }) => kind !== 'VT_SKILL_KEY' && kind !== 'VT_SKILL_NAME' && kind !== 'VT_SKILL_MENDED')
      .map(({ message }) => message.replaceAll(info.root, '').replaceAll(realpathSync(home), '')),
  ]
  const trouble = [...(loaded && loaded.code !== 0 ? [`load_skill fails: ${loaded.stderr || loaded.stdout}`] : [])]
  return { format: info.format, works, left, trouble }
}

async function tried(name) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-packages-')))
  try {
    mkdirSync(join(home, 'ws'))
    const packed = await run('npm', ['pack', name, '--json', '--ignore-scripts', `--pack-destination=${home}`])
    if (packed.code !== 0) return { version: '', rows: [], problem: 'npm does not have it' }
    const [{ filename, version }] = JSON.parse(packed.stdout)
    mkdirSync(join(home, 'unpacked'))
    await run('tar', ['-xzf', join(home, basename(filename)), '-C', join(home, 'unpacked'), '--strip-components=1'])
    const root = join(home, 'unpacked')
    const places = placesIn(root)
    const results = []
    for (const [index, place] of places.slice(0, mostPlaces).entries()) {
      const way = relative(root, place)
      results.push({
        way,
        kinds: kindOf(place),
        ...(await added(way === '' ? `npm:${name}` : place, `p${index}`, home)),
      })
    }
    return { version, results, more: places.length - results.length }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const summed = (texts) =>
  [...texts.reduce((all, text) => all.set(text, (all.get(text) ?? 0) + 1), new Map())].map(([text, times]) =>
    times > 1 ? `${text} (${times} times)` : text,
  )

function rowOf(name, { version, results = [], more = 0, problem }) {
  if (problem) return [name, version, 'nothing', '', problem]
  const found = summed(
    results.map(({ kinds, way }) =>
      way === ''
        ? kinds.join(', ')
        : `${kinds.join(', ')} in \`${dirname(way) === '.' ? way : `${way.split('/')[0]}/…`}\``,
    ),
  )
  const numbers = new Map()
  for (const { works = [] } of results)
    for (const text of works) {
      const [, number, word] = /^(\d+) (.*?)s?$/.exec(text)
      numbers.set(word, (numbers.get(word) ?? 0) + Number(number))
    }
  const works = [...numbers].map(([word, number]) => `${number} ${word}${number === 1 ? '' : 's'}`).join(', ')
  const left = summed(
    results.flatMap(({ failed, left: parts = [], trouble = [] }) => [
      ...(failed ? [failed] : []),
      ...trouble,
      ...parts,
    ]),
  )
  return [
    name,
    version,
    [...found, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
    works,
    short(left.join(' '), 500),
  ]
}

function write(rows) {
  const all = [...rows.values()]
  const installed = all.filter(([, , , works]) => works !== '').length
  const head = ['package', 'version', 'what was found', 'what works', 'what was left, and why']
  const how = `By \`node test/conformance/packages.mjs\`, ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}. Nothing of a package was started: a server counts as working if it would start. If a package contains many packages, the first ${mostPlaces} were tried.`
  writeSection(
    'packages',
    `${all.length} packages contain something for coding agents; parts of ${installed} of them work. ${how}\n\n${table(head, all)}`,
  )
}

const wanted = process.argv.slice(2)
const rows = rowsIn('packages')
for (const name of wanted.length > 0 ? wanted : packages) {
  const result = await tried(name).catch((error) => ({ version: '', problem: `the script failed: ${error.message}` }))
  const row = rowOf(name, result)
  console.log(row.join(' | '))
  // A package without parts of that kind gets no row.
  if ((result.results ?? []).length > 0) rows.set(`\`${name}\``, [`\`${name}\``, ...row.slice(1)])
  write(rows)
}
