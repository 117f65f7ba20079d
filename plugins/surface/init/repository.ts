import { isObject } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'

/** Facts from the files of a repository: its commands by purpose, and its folders. */
export interface RepositoryFacts {
  commands: { what: Purpose; command: string }[]
  folders: { name: string; holds: string[] }[]
  /** `true` if the folder has `.git` or a file that names commands. */
  isProject: boolean
}
type Purpose = 'Build' | 'Test' | 'Lint'
type Names = ReadonlySet<string>
type Read = (name: string) => Promise<string>

const LIMITS = { folders: 20, inside: 6, bytes: 512 * 1024 }
const purposes: Record<Purpose, readonly string[]> = {
  Build: ['build', 'compile'],
  Test: ['test', 'tests'],
  Lint: ['lint', 'check', 'typecheck'],
}
const toCommands = (build: string, test: string, lint?: string): [Purpose, string][] => [
  ['Build', build],
  ['Test', test],
  ...(lint === undefined ? [] : [['Lint', lint] as [Purpose, string]]),
]

/** File → its commands. A name with `*` matches by its end. */
const projectFiles: { file: string; commands(text: string, names: Names): [Purpose, string][] }[] = [
  {
    file: 'package.json',
    commands: (text, names) =>
      listScripts(text).map(([what, name]) => [
        what,
        `${findScriptRunner(names)} ${name === 'test' ? 'test' : `run ${name}`}`,
      ]),
  },
  {
    file: 'deno.json',
    commands: () => [
      ['Test', 'deno test'],
      ['Lint', 'deno lint'],
    ],
  },
  { file: 'Cargo.toml', commands: () => toCommands('cargo build', 'cargo test', 'cargo clippy') },
  { file: 'go.mod', commands: () => toCommands('go build ./...', 'go test ./...', 'go vet ./...') },
  { file: 'pyproject.toml', commands: (text, names) => listPythonCommands(names, text) },
  { file: 'setup.py', commands: (_, names) => (names.has('pyproject.toml') ? [] : listPythonCommands(names, '')) },
  { file: 'pom.xml', commands: () => toCommands('mvn package', 'mvn test') },
  { file: 'build.gradle', commands: (_, names) => listGradleCommands(names) },
  { file: 'build.gradle.kts', commands: (_, names) => listGradleCommands(names) },
  { file: 'Gemfile', commands: (_, names) => (names.has('Rakefile') ? [['Test', 'bundle exec rake test']] : []) },
  { file: 'mix.exs', commands: () => toCommands('mix compile', 'mix test', 'mix format --check-formatted') },
  { file: '*.sln', commands: () => toCommands('dotnet build', 'dotnet test') },
  {
    file: 'CMakeLists.txt',
    commands: () => toCommands('cmake -B build && cmake --build build', 'ctest --test-dir build'),
  },
  {
    file: 'Makefile',
    commands: (text) => {
      const targets = [...text.matchAll(/^([a-z][\w-]*)\s*:(?!=)/gm)].map(([, target]) => target!)
      return matchPurposes(targets).map(([what, target]) => [what, `make ${target}`])
    },
  },
]

/** Reads the names at the top and the few files that define commands. It runs nothing and takes over only names. */
export async function readRepository(workspace: Workspace): Promise<RepositoryFacts> {
  const top = await workspace.listNames('.')
  const names = new Set(top.map(({ name }) => name))
  const read: Read = (name) => workspace.readText(name, { max_bytes: LIMITS.bytes }).catch(() => '')
  const commands: RepositoryFacts['commands'] = []
  for (const { file, commands: listCommands } of projectFiles) {
    const match = file.startsWith('*')
      ? [...names].find((name) => name.endsWith(file.slice(1)))
      : names.has(file)
        ? file
        : undefined
    if (match === undefined) continue
    for (const [what, command] of listCommands(await read(match), names))
      if (!commands.some((one) => one.command === command)) commands.push({ what, command })
  }
  return { commands, folders: await listFolders(workspace, top), isProject: names.has('.git') || commands.length > 0 }
}

/** Returns whether a name has no characters that could mislead a reader. */
const isPlain = (name: string): boolean => /^[\p{L}\p{N}_@][\p{L}\p{N}._@+-]{0,60}$/u.test(name)
const generatedFolders = new Set([
  'node_modules',
  'dist',
  'build',
  'out',
  'target',
  'vendor',
  'coverage',
  'venv',
  '__pycache__',
])

async function listFolders(
  workspace: Workspace,
  top: Awaited<ReturnType<Workspace['listNames']>>,
): Promise<RepositoryFacts['folders']> {
  const folders = top
    .filter(({ name, kind }) => kind === 'directory' && isPlain(name) && !generatedFolders.has(name))
    .slice(0, LIMITS.folders)
  return Promise.all(
    folders.map(async ({ name }) => {
      const inside = await workspace.listNames(name).catch(() => [])
      const plain = inside
        .filter((one) => isPlain(one.name) && !generatedFolders.has(one.name))
        .map((one) => (one.kind === 'directory' ? `${one.name}/` : one.name))
      return { name, holds: plain.length > LIMITS.inside ? [...plain.slice(0, LIMITS.inside), '…'] : plain }
    }),
  )
}

/** Returns each purpose with the first of its words in the list. */
function matchPurposes(words: readonly string[]): [Purpose, string][] {
  return Object.entries(purposes).flatMap(([what, known]) => {
    const word = known.find((one) => words.includes(one))
    return word === undefined ? [] : [[what as Purpose, word] as [Purpose, string]]
  })
}

function listScripts(text: string): [Purpose, string][] {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    return isObject(scripts) ? matchPurposes(Object.keys(scripts)) : []
  } catch {
    return []
  }
}

function findScriptRunner(names: Names): string {
  if (names.has('pnpm-lock.yaml')) return 'pnpm'
  if (names.has('yarn.lock')) return 'yarn'
  return names.has('bun.lock') || names.has('bun.lockb') ? 'bun' : 'npm'
}

function listPythonCommands(names: Names, text: string): [Purpose, string][] {
  const run = names.has('uv.lock') ? 'uv run ' : names.has('poetry.lock') ? 'poetry run ' : ''
  const lint: [Purpose, string][] = /^\[tool\.ruff/m.test(text) ? [['Lint', `${run}ruff check`]] : []
  return [['Test', `${run}pytest`], ...lint]
}

function listGradleCommands(names: Names): [Purpose, string][] {
  const program = names.has('gradlew') ? './gradlew' : 'gradle'
  return toCommands(`${program} build`, `${program} test`)
}
