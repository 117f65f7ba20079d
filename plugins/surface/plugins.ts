import { Option } from 'commander'
import type { Io, Kernel, PluginFolder } from '../../core/index.js'
import { inspect } from '../../core/manifests/index.js'
import { readInstalled } from '../../core/trust/index.js'
import { describePlugin } from '../lib/base/index.js'
import { formatDocument, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'
import {
  addPlugin,
  resolvePluginsFolder,
  removePlugin,
  createInspectContext,
  updatePlugin,
  type AddOptions,
} from './plugins/install.js'
import { UserError } from './plugins/user_error.js'
import { renderList } from './plugins/list.js'
import { createInfoDocument, renderInfo } from './plugins/show.js'
import { showUninstalled, searchPlugins } from './plugins/search.js'
import { createPlugin, runners, templates, type StarterChoice } from './plugins/create_plugin.js'
import { testPlugin } from './plugins/test_plugin.js'
import { writeTypes } from './plugins/types.js'
import { validatePlugin } from './plugins/validate.js'

/** Runs `vtcode plugins`: lists, shows, checks, writes and installs plugins. */
export default async function plugins(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('plugins', 'List, show, write, check and install plugins.', io)
  command
    .command('list')
    .description('List every manifest and package with its state, layer and file, and why it is not active.')
    .option('--json', 'print one JSON document, with the folders of plugins')
    .action(({ json }: { json?: true }) => {
      const { inspection, workspace } = kernel
      const plugins = inspection.plugins().map((one) => describePlugin(kernel, one))
      const found = { plugins, contributions: inspection.contributions() }
      io.stdout.write(json ? formatDocument(found) : renderList(found, workspace, io))
    })
  command
    .command('show')
    .alias('info')
    .description('Show what a plugin is, what it may do, and its source; also of a plugin that is not installed yet.')
    .argument(
      '<name>',
      'a plugin, the id of one of its contributions, a plugin of an index, or a source as `add` takes it',
    )
    .option('--json', 'print one JSON document')
    .action(
      async (name: string, { json }: { json?: true }) => void (code = await printInfo(kernel, name, json ?? false, io)),
    )
  command
    .command('validate')
    .description('Check a plugin, a package of another program or a manifest, and run its `examples`.')
    .argument('<path>')
    .option('--run', 'also run the examples that execute its code, in a sandbox')
    .option('--strict', 'treat warnings as errors')
    .option('--json', 'print one JSON document')
    .action(
      async (path: string, how: { run?: true; strict?: true; json?: true }) =>
        void (code = await validatePlugin(kernel, path, how, io)),
    )
  command
    .command('search')
    .description('Search the indexes of `plugins.indexes` in your settings, and show the source of each plugin.')
    .argument('[word...]', 'words that the name, description or keywords contain')
    .option('--json', 'print one JSON document')
    .action(
      async (words: string[], { json }: { json?: true }) =>
        void (code = await searchPlugins(kernel, words, json ?? false, io)),
    )
  addAuthorCommands(command, kernel, io, (exitCode) => (code = exitCode))
  addInstallCommands(command, kernel, io, (exitCode) => (code = exitCode))
  return runCommand(command, argv, () => code)
}

/** Adds the commands for authors of plugins. */
function addAuthorCommands(
  command: ReturnType<typeof createVerb>,
  kernel: Kernel,
  io: Io,
  setCode: (code: number) => void,
): void {
  command
    .command('new')
    .description('Create a plugin that works and passes its own tests.')
    .argument('<name>')
    .addOption(new Option('--template <template>', 'the template to use').choices(templates).default('js'))
    .addOption(new Option('--tests <runner>', 'the program that runs its tests').choices(runners).default('node'))
    .option('--dir <folder>', 'create its folder here', '.')
    .action(async (name: string, how: StarterChoice) => setCode(await createPlugin(kernel, name, how, io)))
  command
    .command('test')
    .description(
      'Run the tests of a plugin (*.test.js, *.test.ts) with node:test. They need no installation and no build.',
    )
    .argument('[path]', 'the plugin or one test', '.')
    .action(async (path: string) => setCode(await testPlugin(path, io)))
  command
    .command('types')
    .description('Write types.d.ts: the types of the inputs and outputs of the actions, from their schemas.')
    .argument('[path]', 'the plugin', '.')
    .option('--check', 'check the file and write nothing')
    .action(async (path: string, how: { check?: boolean }) => setCode(await writeTypes(kernel, path, io, how)))
}

/** Adds the commands that install, update and remove plugins. They report a failure as an exit code. */
function addInstallCommands(
  command: ReturnType<typeof createVerb>,
  kernel: Kernel,
  io: Io,
  setCode: (code: number) => void,
): void {
  command
    .command('add')
    .description(
      'Install from a folder, git (https://….git, git@…, github:owner/repository[/folder][#ref]), ' +
        'npm:name[@version], an archive (.tar.gz, .zip, .mcpb), or a name in an index. No code of the plugin runs.',
    )
    .argument('<source>')
    .option('--name <name>', 'its name here')
    .option('--ref <ref>', 'branch, tag or commit')
    .option('--sha256 <hash>', 'the expected hash of the archive')
    .option('--here', 'install into this workspace; it still needs `vtcode trust`')
    .option('--link', 'link to the folder instead of copying: for a plugin that you write')
    .option('--in-place', 'agree to a folder that lies among the plugins already')
    .option('--deps', 'install the dependencies of its package-lock.json, without scripts')
    .option('--yes', 'agree to what it may do')
    .action((source: string, how: Partial<AddOptions>) =>
      attempt(async () => `Installed ${await addPlugin(source, { ...how, kernel, io })}.`),
    )
  command
    .command('update')
    .description('Fetch plugins again; asks again when code that runs has changed.')
    .argument('[name...]')
    .option('--here', 'plugins of this workspace')
    .option('--yes', 'agree to what they may do')
    .action(async (names: string[], how: { here?: true; yes?: true }) => {
      await attempt(async () => {
        const all = names.length > 0 ? names : Object.keys(readInstalled(resolvePluginsFolder({ kernel, ...how })))
        // One failure does not stop the others.
        for (const name of all)
          await attempt(async () =>
            (await updatePlugin(name, { ...how, kernel, io })) ? `Updated ${name}.` : `${name} has not changed.`,
          )
        return all.length > 0 ? undefined : 'No plugin is installed.'
      })
    })
  command
    .command('remove')
    .description('Remove a plugin.')
    .argument('<name>')
    .option('--here', 'from this workspace')
    .option('--data', 'also remove its data')
    .option('--yes', 'remove without a question')
    .action((name: string, how: { here?: true; data?: true; yes?: true }) =>
      attempt(async () => (await removePlugin(name, { ...how, kernel, io }), `Removed ${name}.`)),
    )

  async function attempt(work: () => Promise<string | undefined>): Promise<void> {
    try {
      const done = await work()
      if (done !== undefined) io.stdout.write(`${done}\n`)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      say(io, 'error', `${error.message}. Nothing was changed.`)
      setCode(1)
    }
  }
}

async function printInfo(kernel: Kernel, givenName: string, json: boolean, io: Io): Promise<number> {
  const folder = kernel.inspection.plugins().find(({ name }) => name === givenName) ?? findOwner(kernel, givenName)
  if (!folder) {
    const before = await showUninstalled(kernel, givenName, json, io)
    if (before !== undefined) return before
    const known = kernel.inspection.plugins().map((plugin) => plugin.name)
    say(
      io,
      'error',
      `Plugin not found: '${toOneLine(givenName)}'; there are: ${known.join(', ') || 'none'}. \`vtcode plugins ` +
        'list` shows the ids of their contributions.',
    )
    return 1
  }
  const { name } = folder
  if (folder.layer === 'builtin') {
    say(
      io,
      'error',
      `${toOneLine(givenName)} is part of vtcode, not an installed plugin. \`vtcode plugins list\` shows its state, ` +
        '`vtcode tools` lists the tools.',
    )
    return 1
  }
  const inspection = await inspect(folder.root, createInspectContext({ kernel, io }), { name, layer: folder.layer })
  const installed = readInstalled(resolvePluginsFolder({ kernel, here: folder.layer === 'workspace' }))[name]
  const states = new Map(
    kernel.inspection
      .contributions()
      .map(({ id, state, reason }) => [id, { state, ...(reason !== undefined && { reason }) }]),
  )
  const document = createInfoDocument(inspection, installed, states)
  io.stdout.write(json ? formatDocument(document) : renderInfo(document, io))
  return 0
}

/** Finds the plugin of a contribution. A manifest outside any plugin counts as its own plugin. */
function findOwner(kernel: Kernel, id: string): Pick<PluginFolder, 'name' | 'root' | 'layer'> | undefined {
  const one = kernel.inspection.contributions().find((contribution) => contribution.id === id)
  if (!one) return undefined
  const name = id.slice(0, id.lastIndexOf(':'))
  return (
    kernel.inspection.plugins().find((plugin) => plugin.name === name) ?? { name, root: one.file, layer: one.layer }
  )
}
