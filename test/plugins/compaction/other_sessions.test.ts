import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { hold } from '../../support/held.js'

type Call = (session: string, surface?: string, input?: object) => Promise<Result>
interface Place {
  root: string
  home: string
}
const read = { action: 'read', path: 'a.txt' }
const write = { action: 'write', path: 'a.txt', content: 'b\n', mode: 'overwrite' }

/** Starts a process that makes calls in a workspace. */
async function start({ root, home }: Place): Promise<Call & { end: () => Promise<void>; kill: () => Promise<void> }> {
  const child = fork('test/support/session_process.mjs', [root, home], { execArgv: [] })
  hold({ [Symbol.asyncDispose]: async () => void child.kill('SIGKILL') })
  const closed = once(child, 'exit')
  await once(child, 'message')
  const call: Call = async (session, surface = 'library', input = read) => {
    child.send({ input, session, surface })
    return ((await once(child, 'message')) as [Result])[0]
  }
  const end = async () => void (child.disconnect(), await closed)
  const kill = async () => void (child.kill('SIGKILL'), await closed)
  return Object.assign(call, { end, kill })
}
const open = async (): Promise<Place> => hold(await tempWorkspace({ 'a.txt': 'a\n' }))
const listNamed = ({ notices = [] }: Result): string[] =>
  notices
    .filter(({ code }) => code === 'VT_SESSION_OTHERS')
    .flatMap(({ message }) => [...message.matchAll(/(\S+) \(/g)].map(([, name]) => name!))
    .sort()

describe('sessions in one folder', () => {
  it('names each session to the others before their first write, and once', async () => {
    const place = await open()
    const [one, two] = await Promise.all([start(place), start(place)])
    expect(listNamed(await one('first'))).toEqual([])
    const begun = await two('second', 'mcp')
    expect(listNamed(begun)).toEqual(['first'])
    expect(begun.notices![0]!.message).toMatch(
      /^Other sessions work in this folder too: first \(library, process \d+, since \d{4}-\d\d-\d\d \d\d:\d\d UTC\)\. /,
    )
    expect(listNamed(await one('first', 'library', write))).toEqual(['second'])
    expect(listNamed(await two('second', 'mcp'))).toEqual([])
    expect(listNamed(await one('first'))).toEqual([])
  })

  it('names no session that has ended, that was killed, of another folder or of the same process', async () => {
    const [place, elsewhere] = [await open(), await open()]
    const [ended, killed, other, here] = await Promise.all([
      start(place),
      start(place),
      start({ root: elsewhere.root, home: place.home }),
      start(place),
    ])
    await ended('ended')
    await ended.end()
    await killed('killed')
    await killed.kill()
    await other('elsewhere')
    expect(listNamed(await here('new'))).toEqual([])
    expect(listNamed(await here('newer'))).toEqual([])
    const folders = readdirSync(join(place.home, '.vtcode/present')).map((name) =>
      join(place.home, '.vtcode/present', name),
    )
    expect(folders.map((folder) => readdirSync(folder).length).sort()).toEqual([1, 2])
    for (const folder of folders) writeFileSync(join(folder, 'damaged.json'), '{')
    expect(listNamed(await here('newest'))).toEqual([])
  })

  it('names no session of a single call from the command line', async () => {
    const place = await open()
    const [one, two] = await Promise.all([start(place), start(place)])
    await one('short', 'call')
    expect(listNamed(await two('long'))).toEqual([])
  })
})
