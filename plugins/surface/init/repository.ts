import { isObject } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'

/** What a repository is, as far as its files say it: commands by what they are for, and its folders. */
export interface RepositoryFacts {
  commands: { what: Purpose; command: string }[]
  folders: { name: string; holds: string[] }[]
  /** It is one: it has git, or a file that names commands. */
  isProject: boolean
}
type Purpose = 'Build' | 'Test' | 'Lint'
type Names = ReadonlySet<string>
type Read = (name: string) => Promise<string>

const most = { folders: 20, inside: 6, bytes: 512 * 1024 }
const purposes: Record<Purpose, readonly string[]> = {
  Build: ['build', 'compile'],
  Test: ['test', 'tests'],
  Lint: ['lint', 'check', 'typecheck'],
}
const all = (build: string, test: string, lint?: string): [Purpose, string][] => [
  ['Build', build],
  ['Test', test],
  ...(lint === undefined ? [] : [['Lint', lint] as [Purpose, string]]),
]

/** File → the commands that it stands for; a name is looked for as it is, or by its end. */
const kinds: { file: string; commands(text: string, names: Names): [Purpose, string][] }[] = [
  {
    file: 'package.json',
    commands: (text, names) =>
      scripts(text).map(([what, name]) => [what, `${scriptRunner(names)} ${name === 'test' ? 'test' : `run ${name}`}`]),
  },
  {
    file: 'deno.json',
    commands: () => [
      ['Test', 'deno test'],
      ['Lint', 'deno lint'],
    ],
  },
  { file: 'Cargo.toml', commands: () => all('cargo build', 'cargo test', 'cargo clippy') },
  { file: 'go.mod', commands: () => all('go build ./...', 'go test ./...', 'go vet ./...') },
  { file: 'pyproject.toml', commands: (text, names) => python(names, text) },
  { file: 'setup.py', commands: (_, names) => (names.has('pyproject.toml') ? [] : python(names, '')) },
  { file: 'pom.xml', commands: () => all('mvn package', 'mvn test') },
  { file: 'build.gradle', commands: (_, names) => gradle(names) },
  { file: 'build.gradle.kts', commands: (_, names) => gradle(names) },
  { file: 'Gemfile', commands: (_, names) => (names.has('Rakefile') ? [['Test', 'bundle exec rake test']] : []) },
  { file: 'mix.exs', commands: () => all('mix compile', 'mix test', 'mix format --check-formatted') },
  { file: '*.sln', commands: () => all('dotnet build', 'dotnet test') },
  { file: 'CMakeLists.txt', commands: () => all('cmake -B build && cmake --build build', 'ctest --test-dir build') },
  {
    file: 'Makefile',
    commands: (text) =>
      purposesOf([...text.matchAll(/^([a-z][\w-]*)\s*:(?!=)/gm)].map(([, target]) => target!)).map(([what, target]) => [
        what,
        `make ${target}`,
      ]),
  },
]

/** Looks at the names of the top and at the few files that say commands. Nothing is run, and nothing but names is taken over. */
export async function readRepository(workspace: Workspace): Promise<RepositoryFacts> {
  const top = await workspace.listNames('.')
  const names = new Set(top.map(({ name }) => name))
  const read: Read = (name) => workspace.readText(name, { max_bytes: most.bytes }).catch(() => '')
  const commands: RepositoryFacts['commands'] = []
  for (const { file, commands: said } of kinds) {
    const there = file.startsWith('*')
      ? [...names].find((name) => name.endsWith(file.slice(1)))
      : names.has(file)
        ? file
        : undefined
    if (there === undefined) continue
    for (const [what, command] of said(await read(there), names))
      if (!commands.some((one) => one.command === command)) commands.push({ what, command })
  }
  return { commands, folders: await foldersOf(workspace, top), isProject: names.has('.git') || commands.length > 0 }
}

/** Names that a reader can take for nothing but names. */
const isPlain = (name: string): boolean => /^[\p{L}\p{N}_@][\p{L}\p{N}._@+-]{0,60}$/u.test(name)
const made = new Set(['node_modules', 'dist', 'build', 'out', 'target', 'vendor', 'coverage', 'venv', '__pycache__'])

async function foldersOf(
  workspace: Workspace,
  top: Awaited<ReturnType<Workspace['listNames']>>,
): Promise<RepositoryFacts['folders']> {
  const folders = top
    .filter(({ name, kind }) => kind === 'directory' && isPlain(name) && !made.has(name))
    .slice(0, most.folders)
  return Promise.all(
    folders.map(async ({ name }) => {
      const inside = await workspace.listNames(name).catch(() => [])
      const plain = inside
        .filter((one) => isPlain(one.name) && !made.has(one.name))
        .map((one) => (one.kind === 'directory' ? `${one.name}/` : one.name))
      return { name, holds: plain.length > most.inside ? [...plain.slice(0, most.inside), '…'] : plain }
    }),
  )
}

/** Each purpose with the first of its words that is there. */
function purposesOf(words: readonly string[]): [Purpose, string][] {
  return Object.entries(purposes).flatMap(([what, known]) => {
    const word = known.find((one) => words.includes(one))
    return word === undefined ? [] : [[what as Purpose, word] as [Purpose, string]]
  })
}

function scripts(text: string): [Purpose, string][] {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    return isObject(scripts) ? purposesOf(Object.keys(scripts)) : []
  } catch {
    return []
  }
}

function scriptRunner(names: Names): string {
  if (names.has('pnpm-lock.yaml')) return 'pnpm'
  if (names.has('yarn.lock')) return 'yarn'
  return names.has('bun.lock') || names.has('bun.lockb') ? 'bun' : 'npm'
}

function python(names: Names, text: string): [Purpose, string][] {
  const run = names.has('uv.lock') ? 'uv run ' : names.has('poetry.lock') ? 'poetry run ' : ''
  const lint: [Purpose, string][] = /^\[tool\.ruff/m.test(text) ? [['Lint', `${run}ruff check`]] : []
  return [['Test', `${run}pytest`], ...lint]
}

function gradle(names: Names): [Purpose, string][] {
  const program = names.has('gradlew') ? './gradlew' : 'gradle'
  return all(`${program} build`, `${program} test`)
}
