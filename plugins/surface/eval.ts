import { InvalidArgumentError } from 'commander'
import { openWorkspace, VtError, type Io, type Kernel } from '../../core/index.js'
import type { OpenWorkspace } from '../../core/workspace/index.js'
import { createVerb, formatDocument, runCommand, say, toOneLine } from '../lib/terminal/index.js'
import { EvalError } from './eval/error.js'

type Agent = typeof import('../agent/cli/index.js')
interface EvalContext {
  kernel: Kernel
  workspace: OpenWorkspace
  agent: Agent
  io: Io
}
interface RunFlags {
  suite: string
  out: string
  samples: number
  models?: string[]
  solution?: true
  task?: string[]
  compare?: string
  json?: true
}
interface InitFlags {
  out: string
  command?: string
  commits: number
  max: number
  json?: true
}

/** Runs `vtcode eval`: makes tasks from the history of a repository, and runs tasks with models. */
export default async function evaluate(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('eval', 'Make tasks from the history of this repository, and run tasks with models.', io)
  command
    .command('run')
    .description('Run each task of a suite with each model; a run that was ended continues.')
    .requiredOption('--suite <folder>', 'a folder of tasks in the form of Harbor')
    .option('--samples <k>', 'samples of each task and model', parseCount, 1)
    .option('--models <ids>', 'models, separated by commas; default: agent.model of the settings', parseList)
    .option('--solution', "run each task's own solution instead of a model")
    .option('--task <names>', 'only these tasks, separated by commas', parseList)
    .option('--out <folder>', 'the folder of the results', 'eval-results')
    .option('--compare <folder>', 'show the results of another run next to these on the page')
    .option('--json', 'print the report as JSON')
    .action(async (flags: RunFlags) => void (code = await withContext(kernel, io, (here) => run(here, flags))))
  command
    .command('init')
    .description('Make tasks from commits that change tests and code; each is checked three times.')
    .option('--out <folder>', 'the folder of the new tasks', 'eval-tasks')
    .option('--command <command>', 'the command that runs all tests; default: that of the project')
    .option('--commits <n>', 'the number of commits to look through', parseCount, 500)
    .option('--max <n>', 'the largest number of tasks', parseCount, 20)
    .option('--json', 'print the result as JSON')
    .action(async (flags: InitFlags) => void (code = await withContext(kernel, io, (here) => init(here, flags))))
  return runCommand(command, argv.length === 0 ? ['--help'] : argv, () => code)
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('use a number from 1 to 99999.')
  return Number(text)
}

function parseList(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '')
  if (names.length === 0) throw new InvalidArgumentError('name at least one.')
  return names
}

async function withContext(kernel: Kernel, io: Io, use: (here: EvalContext) => Promise<void>): Promise<number> {
  const agent = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    await use({ kernel, workspace, agent, io })
    return 0
  } catch (error) {
    if (io.signal.aborted) {
      say(io, 'info', 'Ended. The same command continues.')
      return 130
    }
    if (error instanceof EvalError) say(io, 'error', `${toOneLine(error.message)}\n  ${toOneLine(error.hint)}`)
    else if (error instanceof VtError)
      say(io, 'error', `${error.code}: ${error.problem.message}\n  ${error.problem.hint}`)
    else return agent.printFailure(kernel, error, io)
    return 1
  } finally {
    workspace.close()
  }
}

async function run({ kernel, workspace, agent, io }: EvalContext, flags: RunFlags): Promise<void> {
  const [
    { readSuite },
    { runSuite },
    { SOLUTION },
    { createReport, formatMarkdown },
    { renderEvalPage },
    { writeTaskFile },
  ] = await Promise.all([
    import('./eval/task.js'),
    import('./eval/run_suite.js'),
    import('./eval/sample.js'),
    import('./eval/report_text.js'),
    import('./eval/report_page.js'),
    import('./eval/tree.js'),
  ])
  const models = flags.solution ? [SOLUTION] : (flags.models ?? [resolveModel(kernel, io)])
  const tasks = chooseTasks(await readSuite(workspace, flags.suite), flags.task)
  // A model without a provider fails before the first sample.
  for (const model of models) if (model !== SOLUTION) agent.findModel(kernel, io.env, model)
  const { suite, out, samples } = flags
  const result = await runSuite({ kernel, workspace, io, slot: agent.RUNNER_SLOT }, tasks, {
    suite,
    out,
    models,
    samples,
  })
  const report = createReport(result)
  const other = flags.compare === undefined ? undefined : await readReport(workspace, flags.compare)
  const folder = workspace.normalize(out)
  await writeTaskFile(workspace, `${folder}/report.json`, `${JSON.stringify(report, null, 2)}\n`)
  const markdown = formatMarkdown(report)
  await writeTaskFile(workspace, `${folder}/report.md`, markdown)
  await writeTaskFile(workspace, `${folder}/report.html`, renderEvalPage(report, other))
  io.stdout.write(flags.json ? formatDocument(report) : markdown)
  for (const { name, refused } of report.refused) say(io, 'warning', toOneLine(`${name} was not run: ${refused}`))
}

function resolveModel(kernel: Kernel, io: Io): string {
  const model = io.env['VTCODE_MODEL'] ?? kernel.settings.agent.model
  if (model === undefined) throw new EvalError('No model is named.', 'Pass --models <provider>/<model>.')
  return model
}

function chooseTasks<T extends { name: string }>(tasks: readonly T[], names: readonly string[] | undefined): T[] {
  const missing = names?.find((name) => !tasks.some((task) => task.name === name))
  if (missing !== undefined)
    throw new EvalError(`The suite has no task '${missing}'.`, `It has ${tasks.map(({ name }) => name).join(', ')}.`)
  return tasks.filter(({ name }) => names === undefined || names.includes(name))
}

async function readReport(workspace: OpenWorkspace, folder: string) {
  const path = `${workspace.normalize(folder)}/report.json`
  try {
    const report = JSON.parse(await workspace.readText(path)) as ReturnType<
      typeof import('./eval/report_text.js').createReport
    >
    if (Array.isArray(report.models) && Array.isArray(report.tasks)) return report
  } catch {
    // The error below names the file.
  }
  throw new EvalError(`'${path}' is not the report of a run.`, 'Pass the --out folder of a run that has ended.')
}

async function init({ kernel, workspace, agent, io }: EvalContext, flags: InitFlags): Promise<void> {
  const { makeTasks } = await import('./eval/history.js')
  const made = await makeTasks({ kernel, workspace, io, slot: agent.RUNNER_SLOT }, flags)
  if (flags.json) io.stdout.write(formatDocument(made))
  else {
    for (const { name } of made.tasks) io.stdout.write(`${toOneLine(name)}\n`)
    for (const { commit, subject, reason } of made.left_out)
      say(io, 'info', toOneLine(`${commit.slice(0, 10)} ${subject}: ${reason}`))
    say(io, 'info', `${made.tasks.length} tasks; ${made.left_out.length} commits left out.`)
  }
}
