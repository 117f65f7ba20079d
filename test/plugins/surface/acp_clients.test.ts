import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { rawEditor } from '../../support/editor.js'
import { hold } from '../../support/held.js'
import { call, home, startPeer, type Answer } from '../../support/peer.js'
import { bin } from '../../support/program.js'

const run = promisify(execFile)
const script = (): Answer[] => [
  { toolCalls: [call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })] },
  { content: 'Done.' },
]
const files = { 'a.txt': 'one\ntwo\n' }

describe('clients that others wrote', () => {
  it('serves a recorded session of acpx 0.19.1: an edit with a buffer and a question', async () => {
    const recorded = readFileSync(new URL('../../fixtures/acp/acpx_0.19.1.jsonl', import.meta.url), 'utf8')
    const { place, line, lines, write, end } = await rawEditor(script(), files)
    const ids = { WORKSPACE: JSON.stringify(place.root).slice(1, -1), SESSION: '' }
    const isRequest = (id: number) => (one: any) => one.id === id && one.method !== undefined
    const isAnswer = (id: number) => (one: any) => one.id === id && one.method === undefined
    for (const text of recorded.trim().split('\n')) {
      const { id, method } = JSON.parse(text)
      // The editor answers a question after it came, and begins with a request after the last one was answered.
      if (method === undefined) await line(isRequest(id))
      else if (id > 0) ids.SESSION = (await line(isAnswer(id - 1))).result.sessionId ?? ids.SESSION
      write(text.replaceAll(/<(WORKSPACE|SESSION)>/g, (_, name: 'WORKSPACE' | 'SESSION') => ids[name]))
    }
    expect((await line(isAnswer(2))).result).toEqual({ stopReason: 'end_turn' })
    const asked = lines.filter(({ id, method }) => id !== undefined && method !== undefined)
    expect(asked.map(({ method }) => method)).toEqual(['fs/read_text_file', 'session/request_permission'])
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('one\n2\n')
    expect(await end()).toBe(0)
  })

  // Installs 41 packages, so only the long form runs it.
  if (process.env['VTCODE_SOAK'])
    it('holds a session with acpx 0.19.1, which approves or refuses', async () => {
      const client = hold(await home({ url: 'http://127.0.0.1:9' }))
      const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', client.home, 'acpx@0.19.1']
      await run('npm', install)
      const acpx = join(client.home, 'node_modules/acpx/dist/cli.js')
      for (const [flag, text] of [
        ['--approve-all', 'one\n2\n'],
        ['--deny-all', 'one\ntwo\n'],
      ] as const) {
        const place = hold(await home(hold(await startPeer([...script(), { content: 'Not applied.' }])), files))
        const words = [acpx, flag, '--agent', `${process.execPath} ${bin} acp`, 'exec', 'edit it']
        const { stdout } = await run(process.execPath, words, { cwd: place.root, env: place.env }).catch(
          (error) => error,
        )
        expect(stdout).toContain('session/request_permission')
        expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe(text)
      }
    })
})
