import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { gif, jpeg, png, webp } from '../../../support/images.js'
import { items } from '../../../support/inside.js'
import { call, formats, type Format } from '../../../support/peer.js'
import { wired as wiredAs, type Script } from '../../../support/wired.js'

const shot = png(8, 6)
const base64 = shot.toString('base64')
const read = (path: string) => call('unified_file', { action: 'read', path })
const sees = { models: { m: { supports_vision: true } } }
const wired = (
  format: Format,
  script: Script,
  provider: object = sees,
  refuse?: (body: string) => string | undefined,
) => wiredAs(format, script, { provider }, refuse)
const key = { PEER_API_KEY: 'key-of-the-peer-0123' }

/** Lists every value in a request by its path. */
function places(value: unknown, at = ''): [string, unknown][] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, one]) => places(one, `${at}.${name}`))
    : [[at, value]]
}
const holding = (body: string, text: string): string[] =>
  places(JSON.parse(body)).flatMap(([at, value]) => (typeof value === 'string' && value.includes(text) ? [at] : []))

// The form of each wire follows the documents of its provider.
const inResult: Record<Format, RegExp> = {
  'openai-chat': /^\.messages\.\d+\.content\.\d+\.image_url\.url$/,
  'openai-responses': /^\.input\.\d+\.output\.\d+\.image_url$/,
  'anthropic-messages': /^\.messages\.\d+\.content\.\d+\.content\.\d+\.source\.data$/,
  'google-generative-ai': /^\.contents\.\d+\.parts\.\d+\.inlineData\.data$/,
}
const inPrompt: Record<Format, RegExp> = {
  ...inResult,
  'openai-responses': /^\.input\.\d+\.content\.\d+\.image_url$/,
  'anthropic-messages': /^\.messages\.\d+\.content\.\d+\.source\.data$/,
}

describe.each(formats)('images over %s', (format) => {
  it('sends an image from a call to a vision model in the form of the wire and its digest to the journal', async () => {
    const s = await wired(format, [
      { toolCalls: [read('shot.png'), read('b.txt')] },
      { content: 'seen' },
      { content: 'still' },
    ])
    writeFileSync(join(s.booted.root, 'shot.png'), shot)
    writeFileSync(join(s.booted.root, 'b.txt'), 'plain\n')
    const outcome = await s.run()
    expect(outcome).toMatchObject({ outcome_code: 'success', text: 'seen' })
    expect(s.bodies[0]).not.toContain(base64)
    expect(holding(s.bodies[1]!, base64)).toEqual([expect.stringMatching(inResult[format])])
    const folder = join(s.booted.root, '.vtcode/sessions', outcome.session_id)
    expect(readFileSync(join(folder, 'messages.jsonl'), 'utf8')).not.toContain(base64)
    expect(readFileSync(join(folder, 'messages.jsonl'), 'utf8')).toContain('"width":8')
    // A process with only the journal sends the bytes that were read then, whatever became of the file.
    rmSync(join(s.booted.root, 'shot.png'))
    expect(await s.run('go on', { resume: outcome.session_id })).toMatchObject({ text: 'still' })
    expect(holding(s.bodies[2]!, base64)).toHaveLength(1)
  })

  it('sends images of a task to a vision model, and a line for each to another model', async () => {
    const s = await wired(format, [{ content: 'a' }, { content: 'b' }])
    const agent = await createAgent(s.booted.kernel, { env: key })
    const other = png(9, 9, 7)
    writeFileSync(join(s.booted.root, 'in.png'), other)
    expect(await agent.run({ text: 'what is it', images: [{ name: 'a.png', data: shot }, 'in.png'] })).toMatchObject({
      text: 'a',
    })
    await agent.close()
    expect(holding(s.bodies[0]!, base64)).toEqual([expect.stringMatching(inPrompt[format])])
    expect(holding(s.bodies[0]!, other.toString('base64'))).toHaveLength(1)

    const blind = await wired(format, [{ content: 'c' }, { toolCalls: [read('in.png')] }, { content: 'd' }], {})
    writeFileSync(join(blind.booted.root, 'in.png'), other)
    const unseeing = await createAgent(blind.booted.kernel, { env: key })
    await unseeing.run({ text: 'what is it', images: [{ name: 'a.png', data: shot }] })
    await unseeing.run('read it')
    await unseeing.close()
    expect(blind.bodies[0]).toContain(
      `[image a.png, image/png, ${shot.length} bytes, 8 × 6 points: this model sees no images]`,
    )
    expect(blind.bodies[2]).toContain(
      `[image in.png, image/png, ${other.length} bytes, 9 × 9 points: this model sees no images]`,
    )
    for (const body of blind.bodies) expect(body).not.toContain(base64.slice(0, 40))
  })

  it('replaces an image whose file changed or is gone by text', async () => {
    const s = await wired(format, [
      { toolCalls: [read('a.png'), read('b.png')] },
      { content: 'seen' },
      { content: 'still' },
    ])
    writeFileSync(join(s.booted.root, 'a.png'), shot)
    writeFileSync(join(s.booted.root, 'b.png'), png(7))
    const { session_id } = await s.run()
    const folder = join(s.booted.root, '.vtcode/sessions', session_id, 'images')
    const [one, two] = readdirSync(folder)
    rmSync(join(folder, one!))
    writeFileSync(join(folder, two!), png(200).toString('base64'))
    expect(await s.run('go on', { resume: session_id })).toMatchObject({ text: 'still' })
    expect(s.bodies[2]).toContain('points: its file is missing]')
    expect(s.bodies[2]).toContain('points: its file has changed]')
    expect(s.bodies[2]).not.toContain(png(200).toString('base64'))
  })

  it('reports once that a server refuses images and continues with text', async () => {
    const refusal = JSON.stringify({
      error: {
        message: 'This model does not support image input.',
        type: 'invalid_request_error',
        code: 400,
        status: 'INVALID_ARGUMENT',
      },
    })
    const s = await wired(
      format,
      [{ toolCalls: [read('a.png')] }, { toolCalls: [read('b.png')] }, { content: 'done' }],
      sees,
      (body) => (body.includes('iVBORw0KGgo') ? refusal : undefined),
    )
    writeFileSync(join(s.booted.root, 'a.png'), shot)
    writeFileSync(join(s.booted.root, 'b.png'), png(7))
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'done' })
    expect(items(s.events, 'error').filter(({ code }) => code === 'VT_LLM_IMAGE')).toHaveLength(1)
    expect(s.bodies.filter((body) => body.includes('iVBORw0KGgo'))).toHaveLength(1)
  })
})

describe('images of a conversation', () => {
  it('removes images with a cleared result, keeps them in a fork and counts fixed tokens', async () => {
    const s = await wired('openai-chat', [{ toolCalls: [read('a.png')] }, { content: 'seen' }, { content: 'forked' }])
    writeFileSync(join(s.booted.root, 'a.png'), shot)
    const { session_id } = await s.run()
    expect(await s.run('go', { resume: session_id, fork: 'full_copy' })).toMatchObject({ text: 'forked' })
    expect(s.bodies[2]).toContain(base64)
    const [, breakdown] = s.events.filter((event) => event.type === 'turn.started')
    expect((breakdown as any).token_breakdown.message_history_tokens).toBeGreaterThan(1600)
    expect((breakdown as any).token_breakdown.message_history_tokens).toBeLessThan(2000)
  })

  it('keeps images in a compacted conversation and only names those of its old part', async () => {
    const summary = {
      content: JSON.stringify({
        goal: 'look',
        constraints: [],
        done: ['read a.png'],
        in_progress: [],
        blocked: [],
        decisions: [],
        next_steps: [],
        facts: [],
        open_questions: [],
        critical_context: '',
      }),
    }
    const s = await wired(
      'openai-chat',
      [
        { toolCalls: [read('a.png')] },
        { content: 'seen '.repeat(30_000) },
        ...[1, 2, 3].map(() => ({ content: 'more '.repeat(2_000) })),
        summary,
        { content: 'after' },
      ],
      { ...sees, context_window: 1_000_000 },
    )
    writeFileSync(join(s.booted.root, 'a.png'), shot)
    const agent = await createAgent(s.booted.kernel, { env: key })
    await agent.run('look')
    for (const more of ['again', 'and again', 'once more']) await agent.run(more)
    expect(await agent.compact()).toBe(true)
    expect(await agent.run('go on')).toMatchObject({ text: 'after' })
    await agent.close()
    expect(s.bodies).toHaveLength(7)
    expect(s.bodies[5]).toContain('8 × 6 points')
    expect(s.bodies[5]).not.toContain(base64)
    expect(s.bodies[6]).not.toContain(base64)
  })

  it('sends the newest twenty images at most', async () => {
    const all = Array.from({ length: 22 }, (_, index) => png(10 + index))
    const s = await wired('openai-chat', [{ content: 'a' }, { content: 'b' }])
    const agent = await createAgent(s.booted.kernel, { env: key })
    const given = (from: number, to: number) =>
      all.slice(from, to).map((data, index) => ({ name: `${from + index}.png`, data }))
    await agent.run({ text: 'some', images: given(0, 11) })
    await agent.run({ text: 'more', images: given(11, 22) })
    await agent.close()
    expect(s.bodies[1]!.split('data:image/png;base64,')).toHaveLength(21)
    expect(s.bodies[1]).toContain('[image 0.png, image/png')
    expect(s.bodies[1]).toContain('10 × 10 points: it made room for newer images]')
  })

  it('rejects files that are no images before a request, with the reason', async () => {
    const s = await wired('openai-chat', [])
    writeFileSync(join(s.booted.root, 'text.png'), 'no image\n')
    const agent = await createAgent(s.booted.kernel, { env: key })
    const bad: [unknown, string][] = [
      ['text.png', 'first bytes'],
      ['none.png', 'none.png'],
      ['../out.png', 'out.png'],
      [{ name: 'x' }, 'neither a path'],
      [7, 'neither a path'],
      [null, 'neither a path'],
      [{ name: 'big.png', data: png(9000, 1) }, '9000 × 1'],
      [{ name: 'cut.png', data: shot.subarray(0, 30) }, 'broken image/png'],
      [{ name: 'none.jpg', data: jpeg(0, 0) }, 'broken image/jpeg'],
      [{ name: 'huge', data: Buffer.alloc(4_000_000) }, '4000000 bytes'],
    ]
    for (const [image, why] of bad) {
      expect(await agent.run({ text: 'what', images: [image as string] })).toMatchObject({
        outcome_code: 'failed',
        error: { code: 'VT_FILE_IMAGE', message: expect.stringContaining(why), hint: expect.stringContaining('PNG') },
      })
    }
    expect(await agent.run({ text: 'what', images: Array.from({ length: 21 }, () => 'a.png') })).toMatchObject({
      error: { code: 'VT_FILE_IMAGE' },
    })
    for (const wrong of [{}, { text: 1 }, { text: 'x', images: 'a.png' }, { text: 'x', images: {} }])
      expect(await agent.run(wrong as never)).toMatchObject({ error: { code: 'VT_CONFIG_INVALID' } })
    for (const [data, type] of [
      [gif(3, 4), 'image/gif'],
      [webp(3, 4), 'image/webp'],
      [jpeg(3, 4), 'image/jpeg'],
    ] as const) {
      expect(await agent.run({ text: 'what', images: [{ name: 'ok', data }] })).not.toMatchObject({
        error: { code: 'VT_FILE_IMAGE' },
      })
      expect(s.bodies.at(-1)).toContain(`data:${type};base64,`)
    }
    await agent.close()
  })
})
