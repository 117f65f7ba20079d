import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { programFile, type Io } from '../../../core/index.js'
import { runProgram } from '../../lib/process/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'

const CHILD_FILE = programFile('plugins/surface/plugins/test_child.js')
const TEST_FILE = /\.test\.[cm]?[jt]s$/
const MAX_DEPTH = 6
const TIMEOUT_SECONDS = 3_600

/**
 * Runs `vtcode plugins test`: runs the tests of a plugin with `node:test` in a separate process. Tests need no
 * installation and no build: `vtcode` and `vtcode/test` resolve to this program, and TypeScript and `await using` are
 * compiled. Returns 0 when all pass.
 */
export async function testPlugin(path: string, io: Io): Promise<number> {
  const place = resolve(path)
  if (!existsSync(place)) {
    say(io, 'error', `'${toOneLine(path)}' does not exist.`)
    return 1
  }
  const folder = statSync(place).isDirectory()
  const files = folder ? findTests(place) : [place]
  if (files.length === 0) {
    say(
      io,
      'error',
      `No test found in ${toOneLine(place)}: add a file *.test.js or *.test.ts. \`vtcode plugins new\` creates one.`,
    )
    return 1
  }
  const write =
    (stream: Io['stdout']) =>
    (chunk: Buffer): undefined =>
      void stream.write(chunk.toString('utf8'))
  const program = {
    file: process.execPath,
    args: ['--no-warnings', '--test-reporter=spec', CHILD_FILE, ...files],
    cwd: folder ? place : resolve(place, '..'),
  }
  const ended = await runProgram(
    program,
    { signal: io.signal, seconds: TIMEOUT_SECONDS },
    write(io.stdout),
    write(io.stderr),
  )
  return ended?.exit_code ?? 1
}

function findTests(root: string, folder = root, depth = 0): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory())
        return depth < MAX_DEPTH && !/^\.|^node_modules$/.test(entry.name) ? findTests(root, path, depth + 1) : []
      return entry.isFile() && TEST_FILE.test(relative(root, path)) ? [path] : []
    })
}
