import { Option } from 'commander'
import { isAbsolute, relative } from 'node:path'
import type { ContributionInfo, Io, Kernel, PluginFolder } from '../../core/index.js'
import { inspect } from '../../core/manifests/index.js'
import { readInstalled } from '../../core/trust/index.js'
import {
  formatColumns,
  formatDocument,
  toOneLine,
  createPaint,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'
import { addPlugin, pluginsFolder, remove, surroundings, update, type AddOptions } from './plugins/install.js'
import { UserError } from './plugins/user_error.js'
import { infoDocument, infoText } from './plugins/show.js'
import { infoBefore, searchPlugins } from './plugins/search.js'
import { createPlugin, runners, templates, type StarterChoice } from './plugins/starter.js'
import { testPlugin } from './plugins/tests.js'
import { writeTypes } from './plugins/types.js'
import { validatePlugin } from './plugins/validate.js'

/** `vtcode plugins`: what was found and what became of it, and everything about writing and installing plugins. */
export default async function plugins(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'plugins',
    'Everything about plugins: what is there, what it may do, writing, checking and installing them.',
    io,
  )
  command
    .command('list')
    .description(
      'Lists every manifest that was found with its one state, the layer it comes from, its file, and why it is not active.',
    )
    .option('--json', 'as one JSON document, with the folders of plugins')
    .action(
      ({ json }: { json?: true }) =>
        void io.stdout.write(
          json ? formatDocument(found(kernel)) : render(kernel.inspection.contributions(), kernel.workspace, io),
        ),
    )
  command
    .command('show')
    .alias('info')
    .description(
      'Says what a plugin is, what it may do, and where it came from; of one that is not installed, before it is.',
    )
    .argument(
      '<name>',
      'of a plugin or the id of one thing it brings; of a plugin of an index; or a source as `add` takes it',
    )
    .option('--json', 'as one JSON document')
    .action(
      async (name: string, { json }: { json?: true }) => void (code = await info(kernel, name, json ?? false, io)),
    )
  command
    .command('validate')
    .description('Checks a plugin, a package of another program or a manifest, and runs its `examples`.')
    .argument('<path>')
    .option('--run', 'also the examples that run something of it, in a sandbox')
    .option('--strict', 'what would only be reported is an error')
    .option('--json', 'as one JSON document')
    .action(
      async (path: string, how: { run?: true; strict?: true; json?: true }) =>
        void (code = await validatePlugin(kernel, path, how, io)),
    )
  command
    .command('search')
    .description(
      'Searches the indexes that `plugins.indexes` of your settings names, and says where each plugin comes from.',
    )
    .argument('[word...]', 'all of which its name, description or keywords hold')
    .option('--json', 'as one JSON document')
    .action(
      async (words: string[], { json }: { json?: true }) =>
        void (code = await searchPlugins(kernel, words, json ?? false, io)),
    )
  addWriting(command, kernel, io, (ended) => (code = ended))
  addInstalling(command, kernel, io, (ended) => (code = ended))
  return runCommand(command, argv, () => code)
}

/** The commands of somebody who writes a plugin. */
function addWriting(command: ReturnType<typeof createVerb>, kernel: Kernel, io: Io, end: (code: number) => void): void {
  command
    .command('new')
    .description('Writes a plugin that works and passes its own tests.')
    .argument('<name>')
    .addOption(new Option('--template <template>', 'what it begins with').choices(templates).default('js'))
    .addOption(new Option('--tests <runner>', 'what runs its tests').choices(runners).default('node'))
    .option('--dir <folder>', 'where its folder is made', '.')
    .action(async (name: string, how: StarterChoice) => end(await createPlugin(kernel, name, how, io)))
  command
    .command('test')
    .description(
      'Runs the tests of a plugin, files called *.test.js or *.test.ts, by node:test. Nothing has to be installed or built for them.',
    )
    .argument('[path]', 'of the plugin or of one test', '.')
    .action(async (path: string) => end(await testPlugin(path, io)))
  command
    .command('types')
    .description('Writes types.d.ts: the types of what the actions of a plugin take and answer, from their schemas.')
    .argument('[path]', 'of the plugin', '.')
    .option('--check', 'only say whether it is fresh')
    .action(async (path: string, how: { check?: boolean }) => end(await writeTypes(kernel, path, io, how)))
}

/** The commands that change what is installed; `end` is told the exit code of what goes wrong. */
function addInstalling(
  command: ReturnType<typeof createVerb>,
  kernel: Kernel,
  io: Io,
  end: (code: number) => void,
): void {
  command
    .command('add')
    .description(
      'Installs from a folder, git (https://….git, git@…, github:owner/repository[/folder][#ref]), npm:name[@version], an archive (.tar.gz, .zip, .mcpb), or its name in an index. Nothing of it runs then.',
    )
    .argument('<source>')
    .option('--name <name>', 'the name it is known by here')
    .option('--ref <ref>', 'branch, tag or commit')
    .option('--sha256 <hash>', 'what an archive must hash to')
    .option('--here', 'into this workspace; it still needs `vtcode trust`')
    .option('--link', 'leave it where it is: for what you are writing')
    .option('--in-place', 'agree to a folder that is among the plugins already')
    .option('--deps', 'install the dependencies of its package-lock.json, without scripts')
    .option('--yes', 'agree to what it may do')
    .action((source: string, how: Partial<AddOptions>) =>
      attempt(async () => `Installed ${await addPlugin(source, { ...how, kernel, io })}.`),
    )
  command
    .command('update')
    .description('Fetches plugins once more; asks again when anything that runs has changed.')
    .argument('[name...]')
    .option('--here', 'those of this workspace')
    .option('--yes', 'agree to what they may do')
    .action(async (names: string[], how: { here?: true; yes?: true }) => {
      await attempt(async () => {
        const all = names.length > 0 ? names : Object.keys(readInstalled(pluginsFolder({ kernel, ...how })))
        // One that cannot be brought keeps no other from coming.
        for (const name of all)
          await attempt(async () =>
            (await update(name, { ...how, kernel, io })) ? `Updated ${name}.` : `${name} is as it was.`,
          )
        return all.length > 0 ? undefined : 'Nothing is installed.'
      })
    })
  command
    .command('remove')
    .description('Takes a plugin away.')
    .argument('<name>')
    .option('--here', 'from this workspace')
    .option('--data', 'and what it has kept')
    .option('--yes', 'without asking, which is done at a terminal only')
    .action((name: string, how: { here?: true; data?: true; yes?: true }) =>
      attempt(async () => (await remove(name, { ...how, kernel, io }), `Removed ${name}.`)),
    )

  async function attempt(work: () => Promise<string | undefined>): Promise<void> {
    try {
      const done = await work()
      if (done !== undefined) io.stdout.write(`${done}\n`)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      say(io, 'error', `${error.message}. Nothing was changed.`)
      end(1)
    }
  }
}

function found(kernel: Kernel) {
  const contributions = kernel.inspection.contributions()
  const countOf = (name: string) => contributions.filter(({ id }) => id.startsWith(`${name}:`)).length
  return {
    plugins: kernel.inspection.plugins().map((plugin) => ({ ...plugin, contributions: countOf(plugin.name) })),
    contributions,
  }
}

async function info(kernel: Kernel, wanted: string, json: boolean, io: Io): Promise<number> {
  const folder = kernel.inspection.plugins().find(({ name }) => name === wanted) ?? ownerOf(kernel, wanted)
  if (!folder) {
    const before = await infoBefore(kernel, wanted, json, io)
    if (before !== undefined) return before
    const known = kernel.inspection.plugins().map((plugin) => plugin.name)
    say(
      io,
      'error',
      `Plugin not found: '${toOneLine(wanted)}'; there are: ${known.join(', ') || 'none'}. \`vtcode plugins list\` shows the ids of what they bring.`,
    )
    return 1
  }
  const { name } = folder
  if (folder.layer === 'builtin') {
    say(
      io,
      'error',
      `${toOneLine(wanted)} is part of vtcode itself, and no plugin that somebody brought. \`vtcode plugins list\` shows its state, \`vtcode tools\` what can be called.`,
    )
    return 1
  }
  const inspection = await inspect(folder.root, surroundings({ kernel, io }), { name, layer: folder.layer })
  const installed = readInstalled(pluginsFolder({ kernel, here: folder.layer === 'workspace' }))[name]
  const states = new Map(
    kernel.inspection
      .contributions()
      .map(({ id, state, reason }) => [id, { state, ...(reason !== undefined && { reason }) }]),
  )
  const document = infoDocument(inspection, installed, states)
  io.stdout.write(json ? formatDocument(document) : infoText(document, io))
  return 0
}

/** The plugin that brings a contribution; a loose manifest stands for itself. */
function ownerOf(kernel: Kernel, id: string): Pick<PluginFolder, 'name' | 'root' | 'layer'> | undefined {
  const one = kernel.inspection.contributions().find((contribution) => contribution.id === id)
  if (!one) return undefined
  const name = id.slice(0, id.lastIndexOf(':'))
  return (
    kernel.inspection.plugins().find((plugin) => plugin.name === name) ?? { name, root: one.file, layer: one.layer }
  )
}

function render(found: ContributionInfo[], workspace: string, io: Io): string {
  const { bold } = createPaint(io.stdout, io.env)
  const rows = found.map((one) => [
    one.id,
    one.kind,
    one.state,
    one.slot ?? one.verb ?? '',
    one.layer,
    shorter(one.file, workspace),
    toOneLine(one.reason ?? ''),
  ])
  const [head, ...lines] = formatColumns([
    ['plugin', 'kind', 'state', 'serves', 'layer', 'file', 'reason'],
    ...rows,
  ]).split('\n')
  return [bold(head!), ...lines].join('\n')
}

function shorter(file: string, workspace: string): string {
  const inside = relative(workspace, file)
  return toOneLine(inside.startsWith('..') || isAbsolute(inside) ? file : inside)
}
