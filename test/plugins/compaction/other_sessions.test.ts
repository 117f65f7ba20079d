import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel, type Kernel, type Result } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { readProcessStart } from '../../../build/core/system/index.js'
import { hold } from '../../support/held.js'

const open = async (made: { root: string; home: string }): Promise<Kernel> => {
  const kernel = await createKernel({ workspace: made.root, home: made.home, env: { HOME: made.home }, mode: 'auto' })
  hold({ [Symbol.asyncDispose]: () => kernel.close() })
  return kernel
}
const write = (kernel: Kernel, session: string, content: string): Promise<Result> =>
  kernel.call(
    'unified_file',
    { action: 'write', path: 'a.txt', content, mode: 'overwrite' },
    { session, surface: 'mcp' },
  )
const read = (kernel: Kernel, session: string, surface = 'mcp'): Promise<Result> =>
  kernel.call('unified_file', { action: 'read', path: 'a.txt' }, { session, surface })
const listNamed = ({ notices = [] }: Result): string[] =>
  notices
    .filter(({ code }) => code === 'VT_SESSION_OTHERS')
    .flatMap(({ message }) => [...message.matchAll(/(\S+) \(/g)].map(([, name]) => name!))
    .sort()

describe('sessions in one folder', () => {
  it('names each session to the others before their first write, and once', async () => {
    const made = hold(await tempWorkspace({ 'a.txt': 'a\n' }))
    const [one, two] = [await open(made), await open(made)]
    expect(listNamed(await read(one, 'first'))).toEqual([])
    expect(listNamed(await read(two, 'second'))).toEqual(['first'])
    expect(listNamed(await write(one, 'first', 'b\n'))).toEqual(['second'])
    expect(listNamed(await read(two, 'second'))).toEqual([])
    expect(listNamed(await read(one, 'first'))).toEqual([])
    const third = await read(one, 'third')
    expect(listNamed(third)).toEqual(['first', 'second'])
    expect(third.notices![0]!.message).toMatch(
      /^Other sessions work in this folder too: \w+ \(\w+, process \d+, since \d{4}-\d\d-\d\d \d\d:\d\d UTC\); /,
    )
  })

  it('names no session that has ended, whose process has ended, or of another folder', async () => {
    const made = hold(await tempWorkspace({ 'a.txt': 'a\n' }))
    const elsewhere = hold(await tempWorkspace({ 'a.txt': 'a\n' }))
    const one = await open(made)
    await read(one, 'ended')
    await one.close()
    await read(await open({ root: elsewhere.root, home: made.home }), 'elsewhere')
    const two = await open(made)
    await read(two, 'present')
    const [folder] = readdirSync(join(made.home, '.vtcode/present'))
      .map((name) => join(made.home, '.vtcode/present', name))
      .filter((path) => readFileSync(join(path, readdirSync(path)[0]!), 'utf8').includes('"present"'))
    const [file] = readdirSync(folder!)
    const present = JSON.parse(readFileSync(join(folder!, file!), 'utf8')) as object
    const killed = { ...present, session: 'killed', pid: spawnSync('true').pid }
    writeFileSync(join(folder!, 'killed.json'), JSON.stringify(killed))
    writeFileSync(join(folder!, 'damaged.json'), '{')
    const parent = { ...present, session: 'parent', pid: process.ppid, started_at: readProcessStart(process.ppid) }
    writeFileSync(join(folder!, 'parent.json'), JSON.stringify(parent))
    expect(listNamed(await read(two, 'new', 'library'))).toEqual(['parent'])
    expect(listNamed(await read(two, 'newest'))).toEqual(['parent', 'present'])
    expect(readdirSync(folder!)).not.toContain('killed.json')
  })

  it('names no session of a single call from the command line', async () => {
    const made = hold(await tempWorkspace({ 'a.txt': 'a\n' }))
    const one = await open(made)
    await read(one, 'short', 'call')
    expect(listNamed(await read(one, 'long'))).toEqual([])
  })

  it('names sessions of one process to each other only where clients share it', async () => {
    const made = hold(await tempWorkspace({ 'a.txt': 'a\n' }))
    const one = await open(made)
    await read(one, 'first', 'library')
    expect(listNamed(await read(one, 'second', 'library'))).toEqual([])
    expect(listNamed(await read(one, 'third'))).toEqual([])
    expect(listNamed(await read(one, 'fourth'))).toEqual(['third'])
  })
})
