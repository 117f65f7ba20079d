import type { Io, Kernel } from '../../core/index.js'
import { findRipgrep } from '../lib/search/index.js'
import { findAstGrep, install } from '../lib/syntax/index.js'
import { formatColumns, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** Runs `vtcode dependencies`: lists and installs the programs that tools need. */
export default async function dependencies(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('dependencies', 'List the programs that tools need, and install them.', io)
  command
    .command('list', { isDefault: true })
    .description('List the programs and their paths.')
    .action(async () => {
      const rows = [
        ['ast-grep', findAstGrep({ root: kernel.workspace, home: kernel.inspection.home })],
        ['ripgrep', await findRipgrep()],
      ] as const
      io.stdout.write(formatColumns(rows.map(([name, path]) => [name, path ?? 'missing'])))
    })
  command
    .command('install <name>')
    .description('Fetch one program and check its pinned hash: ast-grep.')
    .action(async (name: string) => {
      if (name !== 'ast-grep') {
        say(io, 'error', `vtcode cannot install '${name}'; available: ast-grep.`)
        code = 2
        return
      }
      try {
        const options = { again: true, web: kernel.settings.web }
        const path = await install(kernel.inspection.home, new AbortController().signal, options)
        io.stdout.write(`Installed: ${path}\n`)
      } catch (error) {
        say(io, 'error', `ast-grep was not installed: ${(error as Error).message}.`)
        code = 1
      }
    })
  return runCommand(command, argv, () => code)
}
