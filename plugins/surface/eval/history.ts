import { realpathSync, rmSync } from 'node:fs'
import { openWorkspace, redactText } from '../../../core/index.js'
import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { say, toOneLine } from '../../lib/terminal/index.js'
import { CommitReader, type BlobEntry, type Commit, type CommitChange } from './commits.js'
import { EvalError } from './error.js'
import type { SampleContext } from './sample.js'
import { runInSandbox, withKernel, type TaskScriptEnd } from './sandboxed_script.js'
import { writeTaskFile } from './tree.js'

/** A commit that is no task, with the reason. */
interface LeftOut {
  commit: string
  subject: string
  reason: string
}
export interface MadeTasks {
  tasks: { name: string; commit: string }[]
  left_out: LeftOut[]
}
interface InitOptions {
  out: string
  command?: string
  commits: number
  max: number
}
/** The content of a commit that a task is made from. */
interface Candidate {
  commit: Commit
  changes: readonly CommitChange[]
  before: readonly BlobEntry[]
  after: readonly BlobEntry[]
  contents: ReadonlyMap<string, Buffer>
  command: string
  image: string
}

const RUNS = 3
const TEST_SECONDS = 300
const MAX_TASK_BYTES = 50 * 1024 * 1024
const CODE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|scala|c|cc|cpp|h|hpp|cs|rb|php|swift|sh|lua|ex|exs|hs|ml|clj|dart|vue|svelte)$/
const TEST = /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|[._-](?:tests?|specs?)\.\w+$|(?:^|\/)test_[^/]+\.\w+$/
const NETWORK = /ENOTFOUND|EAI_AGAIN|ENETUNREACH|Could not resolve host|name resolution|Network is unreachable/

/** Ways to run all tests of a project, by a file that it has. */
const RUNNERS: readonly { file: RegExp; command: string; image: string }[] = [
  { file: /^package\.json$/, command: 'npm test', image: 'node:22' },
  {
    file: /^(?:pyproject\.toml|pytest\.ini|setup\.py|tox\.ini)$/,
    command: 'python3 -m pytest -q',
    image: 'python:3.12',
  },
  { file: /^go\.mod$/, command: 'go test ./...', image: 'golang:1' },
  { file: /^Cargo\.toml$/, command: 'cargo test', image: 'rust:1' },
  { file: /^Makefile$/, command: 'make test', image: 'debian:12' },
  { file: /(?:^|\/)test_[^/]+\.py$/, command: 'python3 -m unittest discover -q', image: 'python:3.12' },
]

/** Makes tasks from commits that change tests and code. Throws EvalError without a repository or a sandbox. */
export async function makeTasks(context: SampleContext, options: InitOptions): Promise<MadeTasks> {
  const { workspace, io } = context
  const reader = await CommitReader.open(workspace)
  const made: MadeTasks = { tasks: [], left_out: [] }
  for (const commit of await reader.listCommits(options.commits)) {
    if (made.tasks.length === options.max) break
    io.signal.throwIfAborted()
    const changes = await reader.listChanges(commit)
    const touches = (isWanted: (path: string) => boolean) => changes.some(({ path }) => isWanted(path))
    if (!touches(isTest) || !touches(isCode)) continue
    const name = `${commit.sha.slice(0, 8)}-${toSlug(commit.subject)}`
    const folder = `${workspace.normalize(options.out)}/${name}`
    const isKnown = (await workspace.stat(`${folder}/task.toml`)) !== undefined
    const reason = isKnown ? undefined : await tryCommit(context, reader, { commit, changes, options, folder })
    if (reason === undefined) made.tasks.push({ name, commit: commit.sha })
    else made.left_out.push({ commit: commit.sha, subject: commit.subject, reason })
    if (!io.quiet) say(io, 'info', toOneLine(`${name}: ${reason ?? (isKnown ? 'kept' : 'a task')}`))
  }
  return made
}

const isTest = (path: string): boolean => TEST.test(path)
const isCode = (path: string): boolean => !isTest(path) && CODE.test(path)
const toSlug = (subject: string): string =>
  subject
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '') || 'change'

/** Checks a commit and writes its task; returns the reason if it is none. */
async function tryCommit(
  context: SampleContext,
  reader: CommitReader,
  {
    commit,
    changes,
    options,
    folder,
  }: { commit: Commit; changes: readonly CommitChange[]; options: InitOptions; folder: string },
): Promise<string | undefined> {
  if (commit.parent === '') return 'it is the first commit'
  const [before, after] = [await reader.listBlobs(commit.parent), await reader.listBlobs(commit.sha)]
  const bytes = before.reduce((all, one) => all + one.bytes, 0)
  if (bytes > MAX_TASK_BYTES) return `its files have ${Math.ceil(bytes / 1024 ** 2)} MB`
  const runner = RUNNERS.find(({ file }) => after.some(({ path }) => file.test(path)))
  const command = options.command ?? runner?.command
  if (command === undefined)
    throw new EvalError(
      'The command for all tests is unknown: the project has no file that names one.',
      "Pass it, for example --command 'make check'.",
    )
  const contents = await reader.readBlobs([...before, ...after])
  const candidate = { commit, changes, before, after, contents, command, image: runner?.image ?? 'debian:12' }
  const reason = await checkCandidate(context, candidate)
  if (reason === undefined) await writeTask(context.workspace, folder, candidate)
  return reason
}

/** Runs the tests before and after the code of a commit; returns the reason if they do not judge it. */
async function checkCandidate(context: SampleContext, candidate: Candidate): Promise<string | undefined> {
  const root = realpathSync(createTempFolder('eval'))
  const scratch = openWorkspace(root, context.kernel.inspection)
  try {
    return await withKernel(context.kernel, root, async (there) => {
      const run = async (workdir: string, count: number): Promise<TaskScriptEnd[]> => {
        const ends: TaskScriptEnd[] = []
        while (ends.length < count)
          ends.push(
            await runInSandbox(there, context.slot, {
              command: candidate.command,
              workdir,
              seconds: TEST_SECONDS,
              signal: context.io.signal,
            }),
          )
        return ends
      }
      await writeBlobs(scratch, 'after', candidate.after, candidate.contents)
      const [first] = await run('after', 1)
      if (!hasPassed(first!)) return describeFailure(first!)
      const again = await run('after', RUNS - 1)
      if (!again.every(hasPassed))
        return `its tests are not stable: ${1 + again.filter(hasPassed).length} of ${RUNS} runs pass after it`
      await writeBlobs(scratch, 'before', listStart(candidate), candidate.contents)
      const earlier = await run('before', RUNS)
      const passed = earlier.filter(hasPassed).length
      return passed === 0
        ? undefined
        : passed === RUNS
          ? 'its tests pass before it too'
          : `its tests are not stable: ${passed} of ${RUNS} runs pass before it`
    })
  } finally {
    scratch.close()
    rmSync(root, { recursive: true, force: true })
  }
}

const hasPassed = ({ exit_code }: TaskScriptEnd): boolean => exit_code === 0

function describeFailure({ exit_code, output }: TaskScriptEnd): string {
  if (NETWORK.test(output)) return 'its tests need the network'
  const last = redactText(output).trim().split('\n').at(-1) ?? ''
  return `its tests do not pass after it (exit ${exit_code ?? 'unknown'}): ${toOneLine(last).slice(0, 120)}`
}

/** Lists the files before a commit, with the tests after it. */
const listStart = ({ before, after }: Candidate): BlobEntry[] => [
  ...before.filter(({ path }) => !isTest(path)),
  ...after.filter(({ path }) => isTest(path)),
]

async function writeBlobs(
  workspace: OpenWorkspace,
  folder: string,
  blobs: readonly BlobEntry[],
  contents: ReadonlyMap<string, Buffer>,
): Promise<void> {
  for (const { path, id, executable } of blobs)
    await writeTaskFile(workspace, `${folder}/${path}`, contents.get(id)!, executable)
}

const quote = (text: string): string => `'${text.replace(/'/g, `'\\''`)}'`
const toRemoval = (paths: readonly string[]): string[] =>
  paths.length > 0 ? [`rm -f -- ${paths.map(quote).join(' ')}`] : []

/** Writes a task in Harbor's form. Its task.toml is the last file: a folder without it is no task. */
async function writeTask(workspace: OpenWorkspace, folder: string, candidate: Candidate): Promise<void> {
  const { commit, changes, before, after, contents, command, image } = candidate
  const tests = after.filter(({ path }) => isTest(path))
  const changed = new Set(changes.map(({ path }) => path))
  const solution = after.filter(({ path }) => changed.has(path) && !isTest(path))
  const deleted = changes.filter((one) => one.deleted).map(({ path }) => path)
  const scripts = {
    'environment/Dockerfile': [`FROM ${image}`, 'WORKDIR /app', 'COPY files/ /app/'],
    'tests/test.sh': [
      '#!/bin/bash',
      `# All tests of commit ${commit.sha}; they replace what was changed in them.`,
      'cd /app || exit 1',
      ...toRemoval(deleted.filter(isTest)),
      'cp -R /tests/files/. /app/',
      'mkdir -p /logs/verifier',
      `if ${command}; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi`,
    ],
    'solution/solve.sh': [
      '#!/bin/bash',
      'cd /app || exit 1',
      ...toRemoval(deleted.filter((path) => !isTest(path))),
      'cp -R /solution/files/. /app/',
    ],
    'instruction.md': [redactText(describeCommit(commit))],
  }
  await writeBlobs(workspace, `${folder}/environment/files`, before, contents)
  await writeBlobs(workspace, `${folder}/tests/files`, tests, contents)
  await writeBlobs(workspace, `${folder}/solution/files`, solution, contents)
  for (const [path, lines] of Object.entries(scripts))
    await writeTaskFile(workspace, `${folder}/${path}`, `${lines.join('\n')}\n`, path.endsWith('.sh'))
  const settings = [
    'version = "1.0"',
    '',
    '[metadata]',
    `commit = "${commit.sha}"`,
    '',
    '[agent]',
    'timeout_sec = 900.0',
    '',
    '[verifier]',
    `timeout_sec = ${TEST_SECONDS}.0`,
    '',
    '[environment]',
    'build_timeout_sec = 600.0',
  ]
  await writeTaskFile(workspace, `${folder}/task.toml`, `${settings.join('\n')}\n`)
}

/** Describes a change by the message of its commit, without trailers. */
function describeCommit({ subject, body }: Commit): string {
  const text = body
    .split('\n')
    .filter((line) => !/^[A-Z][\w-]+: \S/.test(line))
    .join('\n')
    .trim()
  return [
    subject,
    ...(text === '' ? [] : [text]),
    'Change the code of this project accordingly. Its tests will be replaced by tests of this change, and run.',
  ].join('\n\n')
}
