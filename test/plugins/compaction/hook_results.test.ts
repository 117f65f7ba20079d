import { describe, expect, it } from 'vitest'
import type { Config, JsonObject } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'

const say = (json: object): string => `cat > seen; printf %s '${JSON.stringify(json)}'`
const boot = (event: string, entry: JsonObject, config: Config = {}): Promise<Booted> =>
  bootKernel({
    mode: 'auto',
    config: { hooks: { [event]: [{ hooks: [entry] }] }, ...config },
    files: { 'a.txt': 'one\n' },
  })
const read = (booted: Booted, path = 'a.txt') => booted.call('unified_file', { action: 'read', path })

describe('PostToolUse hook', () => {
  it('passes the answer to a PostToolUse hook and its context to the model', async () => {
    await using booted = await boot('post_tool_use', {
      command: say({ hookSpecificOutput: { additionalContext: 'x'.repeat(2000) }, systemMessage: 'Linted.' }),
    })
    const result = await read(booted)
    expect(result).toMatchObject({
      ok: true,
      output: { content: 'one\n' },
      notices: [
        { code: 'VT_HOOK_CONTEXT', message: 'x'.repeat(2000) },
        { code: 'VT_HOOK_CONTEXT', message: 'Linted.' },
      ],
    })
    expect(JSON.parse((await booted.read('seen'))!)).toMatchObject({
      hook_event_name: 'PostToolUse',
      tool_response: { content: 'one\n' },
      duration_ms: expect.any(Number),
    })
  })

  it('replaces the text or output by that of a PostToolUse hook and redacts secrets in it', async () => {
    const secret = `ghp_${'aB3'.repeat(12)}`
    await using texts = await boot('PostToolUse', {
      command: say({ hookSpecificOutput: { updatedToolOutput: 'short' } }),
    })
    expect(await read(texts)).toMatchObject({ ok: true, text: 'short' })
    await using objects = await boot('PostToolUse', {
      command: say({ hookSpecificOutput: { updatedToolOutput: { content: `key ${secret}` } } }),
    })
    expect(await read(objects)).toMatchObject({ ok: true, output: { content: 'key [redacted:github_token]' } })
  })

  it('reports a PostToolUse hook that blocks or fails as a notice and keeps the result', async () => {
    await using blocks = await boot('PostToolUse', { command: 'echo broken build >&2; exit 2' })
    expect(await read(blocks)).toMatchObject({
      ok: true,
      output: { content: 'one\n' },
      notices: [{ code: 'VT_HOOK_BLOCKED', message: 'broken build' }],
    })
    await using fails = await boot('PostToolUse', { command: 'exit 3' })
    expect(await read(fails)).toMatchObject({ ok: true, notices: [{ code: 'VT_HOOK_FAILED' }] })
  })

  it('passes errors to a PostToolUseFailure hook and refused calls to no hook', async () => {
    await using booted = await boot(
      'PostToolUseFailure',
      { command: 'cat >> seen' },
      { policy: { deny: ['unified_file/delete'] } },
    )
    await read(booted, 'missing.txt')
    await booted.call('unified_file', { action: 'delete', path: 'a.txt' })
    const lines = (await booted.read('seen'))!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toMatchObject([
      { hook_event_name: 'PostToolUseFailure', error: expect.stringContaining('missing.txt') },
    ])
  })
})
