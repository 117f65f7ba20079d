import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hold } from '../../../support/inside.js'
import { call, home, startPeer, vtcode } from '../../../support/peer.js'
import { checkAtif, checkResponses } from '../../../support/records.js'
import type { Row } from '../../../support/seed.js'

// Of what is kept of a run, for people and for programs.
let kept: Promise<{ atif: any; responses: any[]; folder: string[] }> | undefined
const run = () =>
  (kept ??= (async () => {
    const peer = hold(
      await startPeer([
        { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] },
        { content: 'It says one.' },
      ]),
    )
    const place = hold(await home(peer, { 'a.txt': 'one\n' }))
    await vtcode(place, ['exec', 'what does a.txt say?'])
    const [atif, responses] = [
      await vtcode(place, ['export', 'atif']),
      await vtcode(place, ['export', 'open-responses']),
    ]
    await vtcode(place, ['export', 'folder', '--out', 'kept'])
    return {
      atif: JSON.parse(atif.out),
      responses: checkResponses(responses.out),
      folder: readFileSync(join(place.root, 'kept/events.jsonl'), 'utf8').trim().split('\n'),
    }
  })())

export const rows: Row[] = [
  [
    '26',
    'Open Responses emission',
    async () => expect((await run()).responses.map(({ status }) => status)).toEqual(['completed', 'completed']),
  ],
  [
    '26',
    'ATIF trajectory export',
    async () => {
      const { atif } = await run()
      checkAtif(atif)
      expect(atif.steps.map(({ source }: any) => source).filter((source: string) => source !== 'system')).toEqual([
        'user',
        'agent',
        'agent',
      ])
    },
  ],
  [
    '26',
    'for audit and downstream tooling',
    async () => {
      const { folder } = await run()
      const types = folder.map((line) => JSON.parse(line).event.type)
      expect([types[0], types.at(-1)]).toEqual(['thread.started', 'thread.completed'])
    },
  ],
  [
    '161',
    'ATIF per-step metrics for SFT/RL',
    async () => {
      const { atif } = await run()
      const steps = atif.steps.filter(({ source }: any) => source === 'agent')
      expect(steps.map(({ metrics }: any) => [typeof metrics.prompt_tokens, typeof metrics.completion_tokens])).toEqual(
        [
          ['number', 'number'],
          ['number', 'number'],
        ],
      )
      expect(steps[0].observation.results).toHaveLength(1)
    },
  ],
]
