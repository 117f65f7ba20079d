import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { programFile, type Io } from '../../../core/index.js'
import { runProgram } from '../../lib/process/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'

const child = programFile('plugins/surface/plugins/test_child.js')
const isTest = /\.test\.[cm]?[jt]s$/
const MAX_DEPTH = 6
const SECONDS = 3_600

/**
 * `vtcode plugins test`: runs the tests of a plugin by `node:test`, in a process of their own. Nothing has to be installed or built: `vtcode` and
 * `vtcode/test` are this program, and what this version of Node does not know of TypeScript or `await using` is compiled. 0 when all pass.
 */
export async function testPlugin(path: string, io: Io): Promise<number> {
  const place = resolve(path)
  if (!existsSync(place)) {
    say(io, 'error', `'${toOneLine(path)}' does not exist.`)
    return 1
  }
  const folder = statSync(place).isDirectory()
  const files = folder ? testsIn(place) : [place]
  if (files.length === 0) {
    say(
      io,
      'error',
      `There is no test in ${toOneLine(place)}: no file is called *.test.js or *.test.ts. \`vtcode plugins new\` writes one.`,
    )
    return 1
  }
  const write =
    (stream: Io['stdout']) =>
    (chunk: Buffer): undefined =>
      void stream.write(chunk.toString('utf8'))
  const program = {
    file: process.execPath,
    args: ['--no-warnings', '--test-reporter=spec', child, ...files],
    cwd: folder ? place : resolve(place, '..'),
  }
  const ended = await runProgram(program, { signal: io.signal, seconds: SECONDS }, write(io.stdout), write(io.stderr))
  return ended?.exit_code ?? 1
}

function testsIn(root: string, folder = root, depth = 0): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory())
        return depth < MAX_DEPTH && !/^\.|^node_modules$/.test(entry.name) ? testsIn(root, path, depth + 1) : []
      return entry.isFile() && isTest.test(relative(root, path)) ? [path] : []
    })
}
