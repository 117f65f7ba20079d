import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { startCold } from '../../support/compiled.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

startCold()

const folderOf = ({ home }: TempWorkspace): string => join(home, '.vtcode/cache/compiled')
/** The one file that is kept after a call of one action, or nothing. */
const keptIn = (place: TempWorkspace): string | undefined =>
  existsSync(folderOf(place)) ? readdirSync(folderOf(place)).map((name) => join(folderOf(place), name))[0] : undefined
const read = async (place: TempWorkspace, flags: string[] = []): Promise<string> => {
  // Settings are read by a parser that is imported only then.
  const { stdout, stderr } = await vtcode(
    place,
    ['call', ...flags, '--config', './more.yaml', 'unified_file', 'read', '--path', 'a.txt'],
    { process: true },
  )
  expect(stderr).toBe('')
  return JSON.parse(stdout).output.content
}
const files = { 'a.txt': 'hello\n', 'more.yaml': 'policy: { mode: plan }\n' }

it("keeps V8's code cache per action in a folder of the user alone, and rebuilds a damaged one", async () => {
  await using place = await tempWorkspace(files)
  expect(await read(place)).toBe('hello\n')
  const file = keptIn(place)!
  const [made, before] = [readFileSync(file), statSync(file)]
  expect([before.mode & 0o777, statSync(folderOf(place)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(file).toMatch(/\/call-unified_file-read-[0-9a-f]{16}$/)
  expect(await read(place)).toBe('hello\n')
  // A cache that was used is not written again, also not after a call of another action.
  await vtcode(place, ['call', '--config', './more.yaml', 'unified_search', 'list', '--path', '.'], { process: true })
  expect(
    readdirSync(folderOf(place))
      .map((name) => name.replace(/-[0-9a-f]{16}$/, ''))
      .sort(),
  ).toEqual(['call-unified_file-read', 'call-unified_search-list'])
  expect(await read(place)).toBe('hello\n')
  expect([statSync(file).ino, statSync(file).mtimeMs]).toEqual([before.ino, before.mtimeMs])
  const broken = Buffer.from(made)
  const half = Math.floor(made.length / 2)
  broken.fill(0x5a, half, half + 4096)
  for (const damaged of [broken, made.subarray(0, half), Buffer.from('{}')]) {
    writeFileSync(file, damaged)
    expect(await read(place)).toBe('hello\n')
    expect(readFileSync(file).equals(damaged)).toBe(false)
  }
})

it('ignores a code cache in a folder open to others, and writes none for another --home', async () => {
  await using place = await tempWorkspace(files)
  mkdirSync(folderOf(place), { recursive: true })
  chmodSync(folderOf(place), 0o755)
  expect(await read(place)).toBe('hello\n')
  expect(keptIn(place)).toBeUndefined()
  chmodSync(folderOf(place), 0o700)
  expect(await read(place, ['--home', join(place.home, 'another')])).toBe('hello\n')
  expect([keptIn(place), existsSync(join(place.home, 'another/.vtcode/cache/compiled'))]).toEqual([undefined, false])
})

it('ignores a code cache that is a link, a pipe or writable by others, and starts normally', async () => {
  await using place = await tempWorkspace(files)
  expect(await read(place)).toBe('hello\n')
  const file = keptIn(place)!
  const planted: Record<string, () => void> = {
    'a link': () => (renameSync(file, join(place.home, 'aside')), symlinkSync(join(place.home, 'aside'), file)),
    'a pipe that nobody writes to': () => (rmSync(file), execFileSync('mkfifo', [file])),
    'a file that others may write': () => chmodSync(file, 0o666),
  }
  for (const [what, plant] of Object.entries(planted)) {
    plant()
    expect([what, await read(place)]).toEqual([what, 'hello\n'])
    // A cache that was refused is written again.
    expect([what, statSync(keptIn(place)!).isFile(), statSync(keptIn(place)!).mode & 0o777]).toEqual([
      what,
      true,
      0o600,
    ])
  }
})

it('runs the current text of a program file that was replaced by one of equal size and time', async () => {
  await using place = await tempWorkspace(files)
  const program = join(place.home, 'program')
  cpSync(dirname(dirname(bin)), join(program, 'dist'), { recursive: true })
  cpSync(join(dirname(dirname(dirname(bin))), 'package.json'), join(program, 'package.json'))
  symlinkSync(join(dirname(dirname(dirname(bin))), 'node_modules'), join(program, 'node_modules'))
  const verb = join(program, 'dist/plugins/surface/call.cjs')
  const text = readFileSync(verb, 'utf8')
  const help = (say: string) => {
    writeFileSync(verb, text.replace('Usage: vtcode call', say))
    utimesSync(verb, 456_789_000, 456_789_000)
    return execFileSync(process.execPath, [join(program, 'dist/core/bin.cjs'), 'call', '--help'], {
      env: surroundings(place),
      encoding: 'utf8',
    })
  }
  expect(help('Usage: vtcode call')).toContain('Usage: vtcode call ')
  expect(help('Usage: vtcode CALL')).toContain('Usage: vtcode CALL ')
})

it("starts the program as a script without Node's module loader, and the older module entry too", async () => {
  await using place = await tempWorkspace({
    'say.cjs': "process.on('exit', () => console.log(process.mainModule?.filename ?? 'a module'))\n",
  })
  const root = dirname(dirname(dirname(bin)))
  const { bin: begun, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: { vtcode: string }
    version: string
  }
  const started = (file: string) =>
    execFileSync(process.execPath, ['--require', join(place.root, 'say.cjs'), join(root, file), '--version'], {
      env: surroundings(place),
      encoding: 'utf8',
    })
      .trim()
      .split('\n')
  expect(join(root, begun.vtcode)).toBe(bin)
  expect(started(begun.vtcode)).toEqual([version, bin])
  expect(started('dist/core/bin.js')).toEqual([version, 'a module'])
})
