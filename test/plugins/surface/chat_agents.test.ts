import { describe, expect, it } from 'vitest'
import { report, says, spawn, speakers } from '../../support/delegation.js'
import { hold } from '../../support/inside.js'
import { call, home, vtcode } from '../../support/peer.js'
import { drawn, faultsOf } from '../../support/screen.js'

const look = 'Find out what the file says.'
const run = (command: string) => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
const slow = (summary: string) => ({ ...report(summary), how: { latency: 300 } })

describe('agents in a chat', () => {
  it('shows start, state, question and end of each agent, and lists all of them and schedules with /agents', async () => {
    const { url } = await speakers({
      parent: [
        {
          toolCalls: [
            ...['ONE', 'TWO', 'SIX', 'TEN'].map((name) => spawn(`${name} ${look}`, { agent: 'explorer' })),
            spawn(`ASK ${look}`, { agent: 'verifier', label: 'the check' }),
          ],
        },
        says('All is known.'),
      ],
      ONE: [slow('One is done.')],
      TWO: [slow('Two is done.')],
      SIX: [slow('Six is done.')],
      TEN: [{ error: { message: 'broken' }, status: 400 }],
      ASK: [run('touch asked.txt'), report('It holds.')],
    })
    const place = hold(await home({ url }))
    const { type, until, answer, gone, end, text, raw } = await drawn(place, ['chat'], {
      columns: 120,
      rows: 30,
      inside: true,
    })
    await until(/^peer\/m · ask/m)
    type('/loop 7m look at the build\r')
    await until(/1 scheduled, next \d\d:\d\d/)
    type('Explore.\r')
    await until(/^3 agents work, 1 waits for a place · \/agents shows all$/m)
    await until(/^ {2}a1 explorer: ONE Find out what the file says\.$/m)
    await until(/Run `[^`]+`\?/)
    expect(text()).toContain('The agent verifier (a5, the check) asks.')
    await answer('y')
    await until('All is known.')
    for (const line of [
      '◇ explorer begins: ONE Find out',
      '◆ explorer is done: Two is done.',
      '✗ explorer failed: VT_LLM_',
      '◇ verifier begins: the check',
      '◆ verifier is done: It holds.',
    ])
      expect(text(), line).toContain(line)
    expect(text()).not.toContain('wait for a place')
    type('/agents\r')
    await until(
      /^a5 {2}verifier {2}completed +\? +the check: It holds\.\n {4}\.vtcode\/sessions\/ses_\S+\/messages\.jsonl$/m,
    )
    await until(/^a4 {2}explorer {2}failed \(VT_LLM_/m)
    await until(/q closes/)
    type('q')
    await gone(/q closes/)
    type('/agents a9\r')
    await until("Unknown agent 'a9'. Known: a1, a2, a3, a4, a5.")
    type('/agents a1\r')
    await until(/ONE Find out what the file says\.\n[^]*q closes/)
    type('q')
    await gone(/q closes/)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(faultsOf(raw())).toEqual([])
  })

  it('prints agents line by line and in the log of exec, each action with the name of its agent', async () => {
    const script = {
      parent: [{ toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' })] }, says('All is known.')],
      ONE: [{ toolCalls: [call('unified_search', { action: 'list' })] }, report('One is done.')],
    }
    const lines = hold(await home(await speakers(script)))
    const chat = await vtcode(lines, ['chat'], { input: 'Explore.\n/agents\n/loop list\n' })
    expect(chat).toMatchObject({ code: 0, out: 'All is known.\n' })
    expect(chat.err).toMatch(
      /◇ explorer begins: ONE Find out what the file says\.\n[^]*◆ explorer is done: One is done\.\n[^]*^a1 {2}explorer {2}completed +\? +One is done\.\n {4}\.vtcode\/sessions\/\S+\nNo tasks are scheduled in this chat\.\n$/m,
    )
    const log = hold(await home(await speakers(script)))
    const exec = await vtcode(log, ['exec', 'Explore.'])
    expect(exec.err).toMatch(
      /◇ explorer begins: ONE .*\n(?:[^]*\n)?explorer: ✓ unified_search list.*\n[^]*◆ explorer is done: One is done\.\n/,
    )
    expect((await vtcode(log, ['chat', '--resume', 'last'], { input: '/agents\n' })).err).toContain(
      'a1  explorer  completed',
    )
  })
})
