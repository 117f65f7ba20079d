import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { asSchema, generateText, stepCountIs, type ToolSet } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { serveMcp, toAITools } from 'vtcode/ai'
import { bootKernel } from 'vtcode/test'

describe('tools of a kernel in the AI SDK', () => {
  it('returns the listed tools with schemas that the SDK accepts', async () => {
    await using vt = await bootKernel({ mode: 'auto', files: { 'a.txt': 'one\n' } })
    const tools = toAITools(vt.kernel)
    expect(Object.keys(tools)).toEqual(vt.kernel.tools({ lean: true }).map(({ name }) => name))
    expect(await asSchema(tools['unified_file']!.inputSchema as never).jsonSchema).toMatchObject({
      type: 'object',
      properties: { path: {} },
    })
    expect(Object.keys(toAITools(vt.kernel, { only: { tools: ['unified_search'] } }))).toEqual(
      vt.kernel.tools({ lean: true, only: ['unified_search'] }).map(({ name }) => name),
    )
  })

  it('answers calls of the SDK, gives errors to the model, and asks the embedder for approval', async () => {
    await using vt = await bootKernel({ mode: 'ask', files: { 'a.txt': 'one\n' } })
    const calls = [
      { action: 'read', path: 'a.txt' },
      { action: 'write', path: 'b.txt', content: 'x' },
      { action: 'read', path: '../x' },
      { action: 'read', path: 'a.txt', odd: 1 },
    ]
    let step = 0
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
    const model = new MockLanguageModelV3({
      doGenerate: async () => {
        const call = calls[step++]
        return {
          content: call
            ? [{ type: 'tool-call', toolCallId: `c${step}`, toolName: 'unified_file', input: JSON.stringify(call) }]
            : [{ type: 'text', text: 'done' }],
          finishReason: { unified: call ? 'tool-calls' : 'stop', raw: undefined },
          usage,
          warnings: [],
        }
      },
    })
    const asked: string[] = []
    const { text } = await generateText({
      model,
      tools: toAITools(vt.kernel, { approve: ({ reasons }) => (asked.push(...reasons), true) }) as unknown as ToolSet,
      stopWhen: stepCountIs(9),
      prompt: 'go',
    })
    expect([text, await vt.read('b.txt'), asked.length]).toEqual(['done', 'x', 1])
    const read = model.doGenerateCalls
      .at(-1)!
      .prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []))
      .map((part) => (part.type === 'tool-result' ? part.output : undefined))
    expect(read).toEqual([
      { type: 'text', value: expect.stringContaining('one') },
      { type: 'text', value: expect.any(String) },
      { type: 'error-text', value: expect.stringMatching(/^VT_PATH_OUTSIDE: /) },
      { type: 'error-text', value: expect.stringMatching(/^VT_INPUT_UNKNOWN: [^]*odd/) },
    ])
  })

  it('ends with the abort signal of the SDK, and keeps to the granted rights', async () => {
    await using vt = await bootKernel({ mode: 'auto', files: { 'a.txt': 'one\n' } })
    const abort = new AbortController()
    abort.abort()
    expect(
      await toAITools(vt.kernel)['unified_file']!.execute(
        { action: 'read', path: 'a.txt' },
        { abortSignal: abort.signal },
      ),
    ).toMatchObject({ ok: false, code: 'VT_CALL_ABORTED' })
    const lent = toAITools(vt.kernel, { only: { tools: ['unified_file/read'] } })
    for (const tool of Object.values(lent))
      expect(await tool.execute({ action: 'write', path: 'a.txt', content: 'x' }, {})).toMatchObject({ ok: false })
    expect(await vt.read('a.txt')).toBe('one\n')
  })
})

it('serves two MCP clients in one process, one after the other, with an unchanged kernel', async () => {
  await using vt = await bootKernel({ mode: 'auto', files: { 'a.txt': 'one\n' } })
  for (const name of ['first', 'second']) {
    const [theirs, ours] = InMemoryTransport.createLinkedPair()
    await serveMcp(vt.kernel, ours)
    const client = new Client({ name, version: '1' })
    await client.connect(theirs)
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('unified_file_read')
    expect(
      await client.callTool({ name: 'unified_file_read', arguments: { action: 'read', path: 'a.txt' } }),
    ).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining('one') }] })
    await client.close()
  }
})
