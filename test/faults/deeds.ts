import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { expect } from 'vitest'
import { scene, Server, threads, trace, type Call, type Scene, type Thread } from './process.js'

export const soak = process.env['VTCODE_SOAK'] !== undefined

/** A change in a folder, and the states of its files that it may leave: all old or all new. */
export interface Deed {
  name: string
  call: (folder: string) => Call
  old: Record<string, string | undefined>
  now: Record<string, string | undefined>
  /** Extra files that a killed process may leave: the undo history accounts for each of them. */
  between?: Record<string, string | undefined>
}
const patch = (f: string): string =>
  `*** Begin Patch
*** Update File: ${f}/a
-a
+A
*** Delete File: ${f}/b
*** Add File: ${f}/d/c
+C
*** Update File: ${f}/e
*** Move to: ${f}/g
@@
-e
+E
*** End Patch`

export const deeds: Deed[] = [
  {
    name: 'an edit',
    call: (f) => ['unified_file', { action: 'edit', path: `${f}/f`, old_str: 'two', new_str: 'TWO' }],
    old: { f: 'one\ntwo\n' },
    now: { f: 'one\nTWO\n' },
  },
  {
    name: 'a new file in a new folder',
    call: (f) => ['unified_file', { action: 'write', path: `${f}/n/e/w`, content: 'new\n' }],
    old: { 'n/e/w': undefined },
    now: { 'n/e/w': 'new\n' },
  },
  {
    name: 'a move over another file',
    call: (f) => ['unified_file', { action: 'move', path: `${f}/a`, destination: `${f}/b`, overwrite: true }],
    old: { a: 'a', b: 'b' },
    now: { a: undefined, b: 'a' },
  },
  {
    // No call of Node takes a free name and no other: the file gets a second name, then loses the first.
    name: 'a move to a new name',
    call: (f) => ['unified_file', { action: 'move', path: `${f}/a`, destination: `${f}/n/b` }],
    old: { a: 'a', 'n/b': undefined },
    now: { a: undefined, 'n/b': 'a' },
    between: { a: 'a', 'n/b': 'a' },
  },
  {
    name: 'a patch of several files',
    call: (f) => ['apply_patch', { input: patch(f) }],
    old: { a: 'a\n', b: 'b\n', 'd/c': undefined, e: 'e\n', g: undefined },
    now: { a: 'A\n', b: undefined, 'd/c': 'C\n', e: undefined, g: 'E\n' },
  },
]

/** Kinds of steps that a change is made of, and the system calls that make them. */
export const steps: Record<string, string> = {
  'writing content': 'pwrite64',
  fsync: 'fsync,fdatasync',
  rename: 'rename,renameat,renameat2',
  'a second name': 'link,linkat',
  'taking a name away': 'unlink,unlinkat,rmdir',
  chmod: 'fchmod,chmod',
  'making a folder': 'mkdir,mkdirat',
}

/** One moment to strike at: the nth such call of a thread. */
export interface Strike {
  thread: Thread
  when: number
}

/** Lays the files of a deed out in a folder of their own. */
export const lay = ({ old }: Deed, stage: Scene, folder: string): void => {
  stage.put(`${folder}/.keep`, '')
  for (const [path, text] of Object.entries(old)) if (text !== undefined) stage.put(`${folder}/${path}`, text)
}
export const stateOf = ({ old }: Deed, stage: Scene, folder: string) =>
  Object.fromEntries(Object.keys(old).map((path) => [path, stage.text(`${folder}/${path}`)]))

/** Returns every moment of a deed, by the kind of step, as an undisturbed server makes them. */
export async function moments(deed: Deed): Promise<(calls: string) => Strike[]> {
  const stage = scene()
  lay(deed, stage, 'x')
  const server = await Server.start(stage)
  const log = join(stage.home, 'log')
  const own = threads(server)
  const detach = await trace(
    server,
    [server.child.pid!],
    ['-f', '-o', log, '-e', `trace=${Object.values(steps).join(',')}`],
  )
  expect(await server.call(deed.call('x'))).toMatchObject({ ok: true })
  await detach()
  await server.end()
  // The program that carries attributes over is a process of its own.
  const seen = [...readFileSync(log, 'utf8').matchAll(/^(\d+) +(\w+)\(/gm)].map(([, id, name]) => ({
    id: Number(id),
    name: name!,
  }))
  const ours = seen.filter(({ id }) => own.includes(id))
  stage.remove()
  return (calls) =>
    (['main', 'pool'] as const).flatMap((thread) => {
      const steps = ours.filter(
        ({ id, name }) => (id === server.child.pid) === (thread === 'main') && calls.split(',').includes(name),
      )
      return steps.map((_, index) => ({ thread, when: index + 1 }))
    })
}

/** Attaches a tracer that strikes once, or (`3+`) from then on. */
export const strike = (
  server: Server,
  { thread, when }: { thread: Thread; when: Strike['when'] | `${number}+` },
  calls: string,
  what: string,
): Promise<() => Promise<void>> =>
  trace(server, threads(server, thread), [
    '-o',
    '/dev/null',
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:${what}:when=${when}`,
  ])

/** Opens the workspace as the next start does. */
export async function restart({ root: workspace, home }: Scene): Promise<void> {
  const kernel = await createKernel({ workspace, home, env: {} })
  expect(kernel.diagnostics().filter(({ code }) => code === 'VT_PATCH_RECOVERY')).toEqual([])
  await kernel.close()
}

/** Returns all moments in soak, else the first and the last of each thread. */
export const pickEnds = (all: readonly Strike[]): Strike[] =>
  soak
    ? [...all]
    : all.filter(({ thread }, index) => all[index - 1]?.thread !== thread || all[index + 1]?.thread !== thread)

/** Runs over a list with a few at a time. */
export async function each<T>(list: readonly T[], run: (item: T) => Promise<void>, atOnce = 3): Promise<void> {
  const left = [...list]
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
