import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { drain, PipeMaker, type OutputPipes } from '../../../../build/plugins/lib/process/index.js'
import { eventually } from '../../../support/exec.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vtcode-test-'))
})
afterEach(() => {
  delete process.env.TMPDIR
  rmSync(folder, { recursive: true })
})

/** Makes a pipe maker that finds only these programs. */
function makerWith(...programs: string[]): PipeMaker {
  for (const name of programs)
    symlinkSync(spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim(), join(folder, name))
  return new PipeMaker([folder])
}

/** Returns the output of a program that writes to a pair of pipes before any read. */
async function through({ stdout, stderr }: OutputPipes, script: string): Promise<{ out: string; err: string }> {
  const child = spawn('bash', ['-c', script], { stdio: ['ignore', stdout.write, stderr.write] })
  const ended = once(child, 'exit')
  closeSync(stdout.write)
  closeSync(stderr.write)
  await ended
  const came = { out: '', err: '' }
  const streams = [
    drain(stdout.read, (chunk) => void (came.out += chunk.toString())),
    drain(stderr.read, (chunk) => void (came.err += chunk.toString())),
  ]
  await Promise.all(streams.map((stream) => once(stream, 'close')))
  return came
}
const pipesOpen = (): string[] =>
  readdirSync('/proc/self/fd')
    .map(linkOf)
    .filter((link) => /^pipe:|\/vtcode-pipes/.test(link))
const opened = (before: string[]): string[] => pipesOpen().filter((link) => !before.includes(link))
const linkOf = (fd: string): string => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

it('takes a megabyte that is not read, and half of one for errors', async () => {
  const pair = (await makerWith('perl').take())!
  const { out, err } = await through(pair, 'head -c 1048576 /dev/zero; head -c 524288 /dev/zero >&2')
  expect([out.length, err.length]).toEqual([1_048_576, 524_288])
})

it('makes a pipe with mkfifo when perl is missing and leaves nothing on the disk', async () => {
  process.env.TMPDIR = folder
  const pair = (await makerWith('mkfifo').take())!
  expect(readdirSync(folder)).toEqual(['mkfifo'])
  expect(fstatSync(pair.stdout.read).isFIFO() && (fstatSync(pair.stdout.read).mode & 0o777) === 0o600).toBe(true)
  expect(await through(pair, 'echo out > /dev/stdout; echo err | tee /dev/stderr')).toEqual({
    out: 'out\nerr\n',
    err: 'err\n',
  })
})

it('returns no pipe and leaves nothing open when perl, mkfifo or the folder is missing', async () => {
  const before = pipesOpen()
  expect(await makerWith().take()).toBeUndefined()
  process.env.TMPDIR = join(folder, 'none')
  expect(await makerWith('mkfifo').take()).toBeUndefined()
  expect(opened(before)).toEqual([])
})

it('makes a hundred pipes at once and closes unused ones', async () => {
  const before = pipesOpen()
  const maker = makerWith('perl')
  const pairs = await Promise.all(Array.from({ length: 100 }, () => maker.take()))
  const ends = pairs.flatMap((pair) => [pair!.stdout, pair!.stderr])
  expect(new Set(ends.map(({ read }) => fstatSync(read).ino)).size).toBe(200)
  for (const { read, write } of ends) {
    expect(fstatSync(read).ino).toBe(fstatSync(write).ino)
    closeSync(read)
    closeSync(write)
  }
  expect(await eventually(() => opened(before).length === 0)).toBe(true)
})
