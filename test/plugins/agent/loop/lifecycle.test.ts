import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import type { Config } from 'vtcode'
import { eventually } from '../../../support/exec.js'
import { call } from '../../../support/peer.js'
import { items, scene, type Scene } from '../../../support/inside.js'

type Hooks = Record<string, { matcher?: string; hooks: { command: string; timeout?: number }[] }[]>
const note = (matcher?: string): Hooks[string] => [
  { ...(matcher !== undefined && { matcher }), hooks: [{ command: 'cat >> told' }] },
]
const told = async (read: (path: string) => Promise<string | undefined>): Promise<Record<string, unknown>[]> =>
  ((await read('told')) ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const open = (script: Parameters<typeof scene>[0], hooks: Hooks, more: object = {}) =>
  scene(script, { boot: { config: { hooks } as Config, ...more } })
const lastUser = (body: any): string[] =>
  body.messages.filter(({ role }: any) => role === 'user').map(({ content }: any) => content as string)

const remarks = ({ events }: Scene) =>
  items(events, 'error')
    .filter(({ code }) => code.startsWith('VT_HOOK_'))
    .map(({ message }) => message)

describe('session hooks', () => {
  it('runs hooks at the start, at each prompt, at each stop and at the end, once and in order', async () => {
    const s = await open([{ content: 'One.' }, { content: 'Two.' }], {
      SessionStart: note(),
      UserPromptSubmit: note(),
      Stop: note(),
      SessionEnd: note(),
    })
    const agent = await createAgent(s.booted.kernel, { env: { PEER_API_KEY: 'key-of-the-peer-0123' } })
    await agent.run('first')
    await agent.run('second')
    await agent.close()
    const events = await told(s.booted.read)
    expect(
      events.map(({ hook_event_name, source, prompt, last_assistant_message, reason }) => [
        hook_event_name,
        source ?? prompt ?? last_assistant_message ?? reason,
      ]),
    ).toEqual([
      ['SessionStart', 'startup'],
      ['UserPromptSubmit', 'first'],
      ['Stop', 'One.'],
      ['UserPromptSubmit', 'second'],
      ['Stop', 'Two.'],
      ['SessionEnd', 'completed'],
    ])
    expect(new Set(events.map(({ session_id }) => session_id))).toEqual(new Set([agent.session_id]))
  })

  it('matches hooks by source and reason', async () => {
    const s = await open([{ content: 'One.' }], {
      SessionStart: [...note('resume'), { matcher: 'startup|resume', hooks: [{ command: 'echo started >> other' }] }],
      SessionEnd: note('cancelled'),
    })
    await s.run('first')
    expect([await told(s.booted.read), await s.booted.read('other')]).toEqual([[], 'started\n'])
  })

  it('passes to hooks whether the session was resumed or forked', async () => {
    const s = await open([{ content: 'One.' }, { content: 'Two.' }, { content: 'Three.' }, { content: 'Four.' }], {
      SessionStart: note(),
    })
    const run = async (how: object) => {
      const agent = await createAgent(s.booted.kernel, { env: { PEER_API_KEY: 'key-of-the-peer-0123' }, ...how })
      await agent.run('go')
      await agent.close()
      return agent.session_id
    }
    const first = await run({})
    const forked = await run({ resume: first, fork: 'full_copy' })
    await run({ resume: first })
    await run({ resume: forked })
    expect((await told(s.booted.read)).map(({ source }) => source)).toEqual(['startup', 'fork', 'resume', 'resume'])
  })

  it('adds plain text of a start hook and a field of a prompt hook to the conversation', async () => {
    const context = JSON.stringify({
      hookSpecificOutput: { additionalContext: 'It is Sunday.' },
      systemMessage: 'Mind the day.',
    })
    const s = await open([{ content: 'Fine.' }], {
      SessionStart: [{ hooks: [{ command: 'echo The build is red.' }] }],
      UserPromptSubmit: [{ hooks: [{ command: `printf %s '${context}'` }] }],
    })
    await s.run('what now')
    expect(lastUser(s.peer.bodies[0])).toEqual(['what now', 'The build is red.', 'It is Sunday.'])
    expect(remarks(s)).toEqual(['Mind the day.'])
  })

  it('writes a transcript in the form of Claude Code from the start, also in a continued session', async () => {
    const look = `sed -n 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/p' | { read -r file; wc -l < "$file" >> lines; grep '"role":"assistant"' "$file" | tail -1 >> last || true; }`
    const s = await open(
      [
        { content: 'Let me see.', toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] },
        { content: 'One.' },
        { content: 'Two.' },
      ],
      { SessionStart: [{ hooks: [{ command: look }] }], Stop: [{ hooks: [{ command: look }] }] },
      { files: { 'a.txt': 'hello\n' } },
    )
    const agent = await createAgent(s.booted.kernel, { env: { PEER_API_KEY: 'key-of-the-peer-0123' } })
    await agent.run('first')
    await agent.close()
    const again = await createAgent(s.booted.kernel, {
      env: { PEER_API_KEY: 'key-of-the-peer-0123' },
      resume: agent.session_id,
    })
    await again.run('second')
    await again.close()
    const counted = ((await s.booted.read('lines')) ?? '').trim().split(/\s+/).map(Number)
    expect([counted[0], counted[1]! >= 4, counted[2], counted[3]]).toEqual([0, true, counted[1], counted[1]! + 2])
    const last = ((await s.booted.read('last')) ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { message: { content: { type: string; text?: string; name?: string }[] } })
    expect(last.map(({ message }) => message.content.map(({ text }) => text))).toEqual([['One.'], ['One.'], ['Two.']])
    const whole = ((await s.booted.read(`.vtcode/sessions/${agent.session_id}/transcript.jsonl`)) ?? '')
      .trim()
      .split('\n')
      .map(
        (line) => JSON.parse(line) as { type: string; sessionId: string; message: { role: string; content: unknown } },
      )
    expect(whole[0]).toMatchObject({
      type: 'user',
      sessionId: agent.session_id,
      message: { role: 'user', content: 'first' },
    })
    expect(JSON.stringify(whole)).toMatch(
      /"type":"tool_use","id":"[^"]+","name":"unified_file"[^]*"type":"tool_result","tool_use_id"/,
    )
  })

  it('continues without an answer of a Stop hook whose first line declares it async', async () => {
    const s = await open([{ content: 'Done.' }], {
      Stop: [
        {
          hooks: [
            {
              command: `printf '{"async": true, "asyncTimeout": 30000}\\n'; while [ ! -e go ]; do sleep 0.05; done; echo late > late; exit 2`,
            },
          ],
        },
      ],
    })
    const agent = await createAgent(s.booted.kernel, { env: { PEER_API_KEY: 'key-of-the-peer-0123' } })
    // Waiting for the hook would never end.
    expect(await agent.run('first')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
    await writeFile(join(s.booted.root, 'go'), '')
    await expect.poll(() => s.booted.read('late')).toBe('late\n')
    await agent.close()
  })

  it('stops a prompt that a hook refuses before the model gets it', async () => {
    const s = await open([{ content: 'Never.' }], {
      UserPromptSubmit: [{ hooks: [{ command: 'grep -q secret && { echo no secrets >&2; exit 2; } || true' }] }],
    })
    expect(await s.run('tell the secret')).toMatchObject({
      outcome_code: 'failed',
      exit_code: 1,
      error: { code: 'VT_PROMPT_BLOCKED', message: expect.stringContaining('no secrets') },
    })
    expect(s.peer.bodies).toEqual([])
  })

  it('continues after a stop when a hook asks for it, eight times in a row', async () => {
    const s = await open([{ content: 'Done.' }, { content: 'Tested.' }], {
      Stop: [
        { hooks: [{ command: `grep -q '"stop_hook_active":true' || { echo run the tests first >&2; exit 2; }` }] },
      ],
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Tested.' })
    expect(lastUser(s.peer.bodies[1]).at(-1)).toBe('run the tests first')
    const endless = await open(
      Array.from({ length: 12 }, (_, index) => ({ content: `Answer ${index}.` })),
      { Stop: [{ hooks: [{ command: 'echo more >&2; exit 2' }] }] },
    )
    expect(await endless.run()).toMatchObject({ outcome_code: 'success', text: 'Answer 8.' })
  })

  it('ignores hooks that fail or hang and names them in a notice', async () => {
    const s = await open([{ content: 'Done.' }], {
      UserPromptSubmit: [
        { hooks: [{ command: 'exit 7' }, { command: 'sleep 30', timeout: 1 }, { command: 'echo "{broken"' }] },
      ],
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    expect(remarks(s)).toEqual([
      expect.stringContaining('exit code 7'),
      expect.stringContaining('within 1 s'),
      expect.stringContaining('JSON'),
    ])
  })

  it('runs Notification hooks when the agent waits for a person', async () => {
    const s = await open(
      [{ toolCalls: [call('unified_file', { action: 'write', path: 'n', content: '' })] }, { content: 'Done.' }],
      { Notification: note('permission_prompt') },
      { mode: 'ask' },
    )
    const approve = async (): Promise<boolean> => {
      await eventually(async () => (await told(s.booted.read)).length > 0)
      return true
    }
    await s.run('write', { providers: { approval: { approve } } })
    expect(await told(s.booted.read)).toMatchObject([
      {
        hook_event_name: 'Notification',
        notification_type: 'permission_prompt',
        message: expect.stringContaining('unified_file'),
      },
    ])
  })
})
