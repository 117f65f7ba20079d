import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const folderOf = ({ home }: TempWorkspace): string => join(home, '.vtcode/cache/compiled')
/** The one file that is kept after a call of one action, or nothing. */
const keptIn = (place: TempWorkspace): string | undefined => (existsSync(folderOf(place)) ? readdirSync(folderOf(place)).map((name) => join(folderOf(place), name))[0] : undefined)
const read = async (place: TempWorkspace, flags: string[] = []): Promise<string> => {
  // Settings are read by a parser that is imported only then.
  const { stdout, stderr } = await vtcode(place, ['call', ...flags, '--config', './more.yaml', 'unified_file', 'read', '--path', 'a.txt'])
  expect(stderr).toBe('')
  return JSON.parse(stdout).output.content
}
const files = { 'a.txt': 'hello\n', 'more.yaml': 'policy: { mode: plan }\n' }

it('what V8 made of the program is kept for the next call of the same action, in a folder of the user alone, and taken as long as it is whole', async () => {
  await using place = await tempWorkspace(files)
  expect(await read(place)).toBe('hello\n')
  const file = keptIn(place)!
  const [made, before] = [readFileSync(file), statSync(file)]
  expect([before.mode & 0o777, statSync(folderOf(place)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(file).toMatch(/\/call-unified_file-read-[0-9a-f]{16}$/)
  expect(await read(place)).toBe('hello\n')
  // What was taken is not written again, also not after a call of another action.
  await vtcode(place, ['call', '--config', './more.yaml', 'unified_search', 'list', '--path', '.'])
  expect(readdirSync(folderOf(place)).map((name) => name.replace(/-[0-9a-f]{16}$/, '')).sort()).toEqual(['call-unified_file-read', 'call-unified_search-list'])
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

it('nothing is taken from a folder that anybody else may write or read, and nothing kept where another home is meant', async () => {
  await using place = await tempWorkspace(files)
  mkdirSync(folderOf(place), { recursive: true })
  chmodSync(folderOf(place), 0o755)
  expect(await read(place)).toBe('hello\n')
  expect(keptIn(place)).toBeUndefined()
  chmodSync(folderOf(place), 0o700)
  expect(await read(place, ['--home', join(place.home, 'another')])).toBe('hello\n')
  expect([keptIn(place), existsSync(join(place.home, 'another/.vtcode/cache/compiled'))]).toEqual([undefined, false])
})
