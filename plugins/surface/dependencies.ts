import type { Io, Kernel } from '../../core/index.js'
import { findRipgrep } from '../lib/search/index.js'
import { findAstGrep, install } from '../lib/syntax/index.js'
import { formatColumns, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** `vtcode dependencies`: the programs behind the tools, and how they come here. */
export default async function dependencies(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('dependencies', 'Shows the programs that tools need, and installs them.', io)
  command
    .command('list', { isDefault: true })
    .description('which programs are there')
    .action(async () => {
      const rows = [
        ['ast-grep', findAstGrep({ root: kernel.workspace, home: kernel.inspection.home })],
        ['ripgrep', await findRipgrep()],
      ] as const
      io.stdout.write(formatColumns(rows.map(([name, path]) => [name, path ?? 'missing'])))
    })
  command
    .command('install <name>')
    .description('fetch one, checked against its pinned hash: ast-grep')
    .action(async (name: string) => {
      if (name !== 'ast-grep') {
        say(io, 'error', `'${name}' is nothing that vtcode installs; possible: ast-grep.`)
        code = 2
        return
      }
      try {
        io.stdout.write(
          `Installed: ${await install(kernel.inspection.home, new AbortController().signal, { again: true, web: kernel.settings.web })}\n`,
        )
      } catch (error) {
        say(io, 'error', `ast-grep was not installed: ${(error as Error).message}.`)
        code = 1
      }
    })
  return runCommand(command, argv, () => code)
}
