/// <reference types="node-pty" />
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { checkLog } from '../../support/invariants.js'
import { call, home, logOf, startPeer, vtcode, type Home } from '../../support/peer.js'
import { eventually, nap, processesWith } from '../../support/exec.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
/** A fault in the program itself: `how` goes wrong once the model has begun to answer. */
const faulty = (how: string) =>
  `data:text/javascript,${encodeURIComponent(`const real = fetch; globalThis.fetch = async (...asked) => { const answer = await real(...asked); setTimeout(() => { ${how} }, 100); return answer }`).replaceAll("'", '%27')}`
const reports = (place: Home): string[] =>
  readdirSync(join(place.home, '.vtcode/reports')).map((name) => join(place.home, '.vtcode/reports', name))
const slow = { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }

it.each([
  ['an error', "throw new Error('on purpose')"],
  ['a promise', "Promise.reject(new Error('on purpose'))"],
])(
  'ends the program with a code and a report after %s that no handler caught, and the session resumes',
  async (_, how) => {
    const peer = await startPeer([slow, { content: 'done' }])
    const place = await home(peer)
    held.push(peer, place)
    const { code, err } = await vtcode(place, ['exec', '--session-id', 'ses_a', 'go'], {
      node: ['--import', faulty(how)],
    })
    const [report] = reports(place)
    expect(code).toBe(1)
    expect(err).toContain(
      `vtcode: error: VT_INTERNAL: Internal error of the program or of a plugin: on purpose\n  Details are in ${report};`,
    )
    expect(err).not.toContain('    at ')
    expect([readFileSync(report!, 'utf8').split('\n').slice(1, 3), statSync(report!).mode & 0o777]).toEqual([
      ['Error: on purpose', expect.stringContaining('    at ')],
      0o600,
    ])
    expect((await vtcode(place, ['resume', 'ses_a', '--continue-turn'])).out).toBe('done\n')
    checkLog(logOf(place, 'ses_a'))
  },
)

it('redacts secrets in the crash report and in the message about it', async () => {
  const peer = await startPeer([slow])
  const place = await home(peer)
  held.push(peer, place)
  const named = 'not to be told by anybody'
  // The end of the line that is shown cuts through the last of them.
  const how =
    "const formatted = 'ghp_' + 'a1'.repeat(18); throw new Error(formatted + ' ' + process.env.FIRM_TOKEN + ' ' + 'x'.repeat(110) + ' ' + formatted)"
  const { code, err } = await vtcode({ ...place, env: { ...place.env, FIRM_TOKEN: named } }, ['exec', 'go'], {
    node: ['--import', faulty(how)],
  })
  const report = readFileSync(reports(place)[0]!, 'utf8')
  expect([code, err, report]).toEqual([
    1,
    expect.stringContaining('[redacted:github_token] [redacted:FIRM_TOKEN] xx'),
    expect.stringMatching(/x \[redacted:github_token\]\n {4}at /),
  ])
  for (const text of [err, report])
    expect([text.includes('a1a1'), text.includes('not to be told')]).toEqual([false, false])
})

it('restores the terminal and ends started programs before a crashed program exits', async () => {
  const sleeping = nap()
  const peer = await startPeer([
    { toolCalls: [call('unified_exec', { action: 'run', command: `touch began; ${sleeping}` })] },
  ])
  const place = await home(peer, {}, { settings: { policy: { mode: 'auto', allow: ['exec'] } } })
  held.push(peer, place)
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const bin = fileURLToPath(new URL('../../../dist/core/bin.js', import.meta.url))
  const when =
    "setInterval(() => { if (process.getBuiltinModule('node:fs').existsSync('began') && process.stdin.setRawMode) { process.stdin.setRawMode(true); throw new Error('on purpose') } }, 100)"
  const terminal = spawn(
    'sh',
    ['-c', `"${process.execPath}" --import '${faulty(when)}' "${bin}" chat; echo "ended $?"; stty -a`],
    { cwd: place.root, env: place.env, cols: 200, rows: 24 },
  )
  let shown = ''
  terminal.onData((data) => (shown += data))
  const ended = new Promise((resolve) => terminal.onExit(resolve))
  await expect.poll(() => shown).toContain('> ')
  terminal.write('go\r')
  await ended
  expect(shown).toContain('VT_INTERNAL')
  expect(shown).toContain('ended 1')
  expect(shown).toMatch(/[^-]icanon/)
  expect(shown.split('VT_INTERNAL')).toHaveLength(2)
  expect(await eventually(() => processesWith(sleeping).length === 0)).toBe(true)
})
