import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hold } from '../../../support/inside.js'
import { home, startPeer, vtcode } from '../../../support/peer.js'
import type { Row } from '../../../support/seed.js'

// Of work that begins by itself.
async function place() {
  const peer = hold(await startPeer([{ content: 'It is done.' }]))
  const at = hold(await home(peer, {}, { settings: { automation: { scheduled_tasks: { enabled: true } } } }))
  const schedule = async (...words: string[]): Promise<any> =>
    JSON.parse((await vtcode(at, ['schedule', ...words, '--json'])).out)
  return { peer, at, schedule }
}

export const rows: Row[] = [
  [
    '24',
    'session-scoped /loop',
    async () => {
      const { at } = await place()
      const chat = (...lines: string[]) =>
        vtcode(at, ['chat', '--continue', '--quiet'], { input: `${lines.join('\n')}\n` })
      await vtcode(at, ['chat', '--quiet'], { input: 'hello\n/loop 7m look at the build\n' })
      expect((await chat('/loop list')).err).toMatch(/^1 +every 6m .*look at the build$/m)
      await chat('/loop cancel 1')
      expect((await chat('/loop list')).err).toContain('No tasks are scheduled in this chat.')
    },
  ],
  [
    '25',
    'durable vtcode schedule',
    async () => {
      const { schedule } = await place()
      const { id } = await schedule('create', '--prompt', 'tidy up', '--every', '1h')
      expect((await schedule('list')).map((one: { id: string }) => one.id)).toEqual([id])
    },
  ],
  [
    '25',
    'definitions under config/data dirs',
    async () => {
      const { at, schedule } = await place()
      const { id, action } = await schedule('create', '--prompt', 'tidy up', '--every', '1h')
      expect(
        JSON.parse(readFileSync(join(at.home, '.vtcode/scheduled_tasks/tasks', `${id}.json`), 'utf8')).action,
      ).toEqual(action)
      expect(existsSync(join(at.home, '.vtcode/state/scheduled_tasks', `${id}.json`))).toBe(true)
      expect(readdirSync(at.root)).toEqual([])
    },
  ],
  [
    '25',
    'local daemon launching vtcode exec',
    async () => {
      const { peer, at, schedule } = await place()
      const { id } = await schedule(
        'create',
        '--prompt',
        'tidy up',
        '--at',
        new Date(Date.now() + 1500).toISOString(),
        '--no-jitter',
      )
      await vtcode(at, ['schedule', 'serve'], {
        started: (child) => void setTimeout(() => child.kill('SIGTERM'), 5000),
      })
      expect(peer.bodies[0].messages.at(-1).content).toBe('tidy up')
      expect((await schedule('runs', id)).runs).toEqual([
        expect.objectContaining({ status: 'success', subtype: 'success' }),
      ])
    },
  ],
]
