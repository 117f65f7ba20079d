import { InvalidArgumentError, Option } from 'commander'
import { omitUndefined } from '../../core/shapes/index.js'
import { block, openWorkspace, redactText, type Io, type Kernel, type Workspace } from '../../core/index.js'
import {
  formatNotApplied,
  createProgressSink,
  describeReason,
  toAgentOptions,
  addSessionOptions,
  workAndAsk,
  type SessionFlags,
} from '../agent/cli/index.js'
import { formatDocument, formatForStdout, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'
import { countTextLines, readDiff, type ChangedFile, type DiffFlags } from './review/diff.js'
import {
  findingsPrompt,
  findingsSchema,
  isAtLeast,
  reviewTask,
  severities,
  filterFindings,
  type ReviewFinding,
  type Severity,
} from './review/findings.js'

interface ReviewFlags extends SessionFlags, DiffFlags {
  failOn?: Severity
  json?: true
}
/** Bytes of patches in the task; further files are only named. */
const MAX_DIFF_BYTES = 96 * 1024
/** Slot whose policy decides which files may be read. */
const READ_SLOT = 'unified_file/read'

/** `vtcode review`: lets a model look for faults in a change. Changes nothing. */
export default async function review(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = addSessionOptions(
    createVerb(
      'review',
      'Let a model look for faults in a change of this git repository. Reads only, changes nothing.',
      io,
    ),
  )
    .addOption(
      new Option('--base <ref>', 'changes since the branch left this commit; default: against HEAD')
        .argParser(parseReference)
        .conflicts(['staged', 'commit']),
    )
    .addOption(new Option('--staged', 'staged changes').conflicts(['commit']))
    .addOption(new Option('--commit <sha>', 'changes of this commit').argParser(parseReference))
    .addOption(
      new Option('--fail-on <severity>', 'exit 1 for a finding of this severity or worse').choices(
        [...severities].reverse(),
      ),
    )
    .option('--json', '{ findings, dropped } on stdout')
    .action(async (flags: ReviewFlags) => void (code = await runReview(kernel, flags, io)))
  return runCommand(command, argv, () => code)
}

function parseReference(text: string): string {
  if (text === '' || text.startsWith('-') || text.length > 200)
    throw new InvalidArgumentError('pass a commit, a branch or a tag.')
  return text
}

async function runReview(kernel: Kernel, flags: ReviewFlags, io: Io): Promise<number> {
  const { mode } = kernel.settings.policy
  if (mode !== 'plan') {
    say(
      io,
      'error',
      `vtcode review cannot use --mode ${mode}: it changes nothing and always runs in mode plan. Leave --mode out.`,
    )
    return 2
  }
  const diff = await readDiff(kernel.workspace, flags)
  if ('refused' in diff) {
    const reason = toOneLine(diff.refused).replace(/\.+$/, '')
    say(
      io,
      'error',
      `VT_REVIEW_NO_DIFF: git shows no diff of ${toOneLine(kernel.workspace)}: ${reason}.\n` +
        '  Name a commit that exists with --base or --commit, in a folder of a git repository.',
    )
    return 1
  }
  if (diff.untracked > 0)
    say(
      io,
      'info',
      `${diff.untracked} untracked ${diff.untracked === 1 ? 'file is' : 'files are'} ` +
        `not in the diff; \`git add -N <file>\` adds one.`,
    )
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const files: ChangedFile[] = []
    for (const file of diff.files) {
      // Leave out files that the model may not read.
      if ((await kernel.explain(READ_SLOT, { path: file.path }, { mode })).verdict === 'run')
        files.push({ ...file, lines: () => countFileLines(file, workspace) })
    }
    const unread = diff.files.length - files.length
    if (unread > 0)
      say(
        io,
        'info',
        `${unread} changed ${unread === 1 ? 'file' : 'files'} may not be read, ` +
          `and ${unread === 1 ? 'is' : 'are'} not reviewed.`,
      )
    return files.length === 0
      ? printFindings(io, flags, { findings: [], dropped: 0 }, 'No changes to review.')
      : await askModel(kernel, files, flags, io)
  } finally {
    workspace.close()
  }
}

/** Counts lines of a changed file: by git for a commit or the index, else in the workspace. */
async function countFileLines(file: ChangedFile, workspace: Workspace): Promise<number> {
  const lines = await file.lines()
  return Number.isNaN(lines) ? countTextLines(await workspace.readText(file.path).catch(() => '')) : lines
}

async function askModel(kernel: Kernel, files: readonly ChangedFile[], flags: ReviewFlags, io: Io): Promise<number> {
  const quiet = (flags.json ?? false) || (io.quiet ?? false)
  const options = {
    surface: 'review',
    ...toAgentOptions(flags),
    quiet: true,
    ...(!quiet && io.stdout.isTTY && { onEvent: createProgressSink(io) }),
  }
  const data = {
    system: findingsPrompt,
    task: 'The findings of the review above.',
    schema: findingsSchema,
    purpose: 'review' as const,
  }
  return workAndAsk(
    kernel,
    io,
    { verb: 'exec', ...omitUndefined({ asked: flags.context }) },
    options,
    { task: buildTask(files), data },
    async (outcome, reply) => {
      io.stderr.write(formatNotApplied(outcome))
      // Findings count even if a change was refused.
      const reason = reply ? undefined : describeReason(outcome)
      if (reason !== undefined) say(io, 'error', reason)
      if (!reply && outcome.exit_code !== 0) return outcome.exit_code
      if (!reply) {
        say(
          io,
          'error',
          `VT_REVIEW_NO_FINDINGS: three answers of the model are not a list of findings.\n` +
            `  \`vtcode trace ${outcome.session_id}\` shows them; try another --model.`,
        )
        return 1
      }
      const sound = await filterFindings(reply['findings'] as unknown as ReviewFinding[], files)
      return printFindings(io, flags, sound, sound.findings.length === 0 ? 'No faults found.' : '')
    },
  )
}

function printFindings(
  io: Io,
  { json, failOn }: ReviewFlags,
  sound: { findings: ReviewFinding[]; dropped: number },
  nothing: string,
): number {
  const { findings, dropped } = sound
  if (json) io.stdout.write(formatDocument(sound))
  else if (findings.length === 0) io.stdout.write(`${nothing}\n`)
  else io.stdout.write(formatForStdout(io, `${findings.map(formatFinding).join('\n\n')}\n`))
  if (dropped > 0)
    say(
      io,
      'info',
      `${dropped} ${dropped === 1 ? 'finding names' : 'findings name'} ` +
        `no line of the diff's files, and ${dropped === 1 ? 'was' : 'were'} dropped.`,
    )
  return failOn !== undefined && isAtLeast(findings, failOn) ? 1 : 0
}

function formatFinding({ path, line_number, severity, title, detail, suggestion }: ReviewFinding): string {
  const below = [detail, ...(suggestion === undefined ? [] : [`Suggestion: ${suggestion}`])].join('\n')
  return [
    `${severity}: ${toOneLine(path)}:${line_number}: ${toOneLine(title)}`,
    ...below.split('\n').map((line) => `  ${line}`),
  ].join('\n')
}

/** Builds the task: patches up to the limit, then the names of other files. */
function buildTask(files: readonly ChangedFile[]): string {
  let left = MAX_DIFF_BYTES
  const [patches, named]: [string[], string[]] = [[], []]
  for (const { path, patch } of files) {
    const size = Buffer.byteLength(patch)
    if (size <= left) patches.push(patch)
    else named.push(path)
    left -= size <= left ? size : 0
  }
  const rest =
    named.length === 0
      ? ''
      : `\n\n${block('changed', named.map(toOneLine).join('\n'))}\n` +
        'These files changed too; their diff is too long. Read them.'
  return redactText(`${reviewTask}\n\n${block('diff', patches.join(''))}${rest}`)
}
