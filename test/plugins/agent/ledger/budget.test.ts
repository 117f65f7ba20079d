import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { scene } from '../../../support/inside.js'

const priced = { cost: { input: 200, output: 200 }, context_window: 200_000, max_output_tokens: 1000 }
const within = (max_budget_usd: number) => ({
  provider: priced,
  settings: { agent: { model: 'peer/m', harness: { max_budget_usd } } },
})

describe('token budget', () => {
  it('counts the schemas of the tools and refuses a first request that costs more', async () => {
    const open = await scene(
      [{ content: 'ok', usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }],
      { provider: priced },
    )
    await open.run()
    const { messages, tools } = open.peer.bodies[0]
    const about = (value: unknown): number => (JSON.stringify(value).length / 4 / 1e6) * 200
    const [words, all] = [about(messages), about(messages) + about(tools)]
    expect(all).toBeGreaterThan(2 * words)
    // The limit lies between the cost of the messages alone and the whole cost.
    const s = await scene([{ content: 'never' }], within((words * 1.3 + all * 0.7) / 2))
    expect(await s.run()).toMatchObject({
      outcome_code: 'budget_limit_reached',
      subtype: 'error_max_budget_usd',
      error: { code: 'VT_LOOP_BUDGET' },
    })
    expect(s.peer.bodies).toEqual([])
  })

  it('ignores tools that are not sent', async () => {
    const open = await scene([{ content: 'ok' }], { provider: priced })
    await open.run('go', { tools: false })
    const words = (JSON.stringify(open.peer.bodies[0].messages).length / 4 / 1e6) * 200
    const s = await scene([{ content: 'ok' }], {
      provider: { ...priced, supports_tools: false },
      settings: { agent: { model: 'peer/m', harness: { max_budget_usd: words * 2 } } },
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
  })

  it('checks the budget before every attempt, so that broken answers do not exceed it', async () => {
    const cut = { content: 'long '.repeat(400), how: { truncateAfterChunks: 3 } }
    const once = await scene([{ content: 'ok' }], { provider: priced })
    await once.run()
    const cost = (JSON.stringify(once.peer.bodies[0]).length / 4 / 1e6) * 200
    const s = await scene([cut, cut, cut, { content: 'too late' }], within(cost * 1.8))
    expect(await s.run()).toMatchObject({ outcome_code: 'budget_limit_reached' })
    expect(s.peer.bodies).toHaveLength(1)
  })

  it('counts the cost of a refused answer, also in later runs', async () => {
    const s = await scene(
      [{ content: 'x y '.repeat(10_000), finishReason: 'content_filter' }, { content: 'never' }],
      within(1.5),
    )
    const agent = await createAgent(s.booted.kernel, { env: {}, tools: false })
    expect(await agent.run('go')).toMatchObject({ error: { code: 'VT_LLM_REFUSED' } })
    expect(await agent.run('again')).toMatchObject({ outcome_code: 'budget_limit_reached' })
    await agent.close()
    expect(s.peer.bodies).toHaveLength(1)
  })

  it.each([
    [
      'a negative number of tokens',
      { prompt_tokens: -1_000_000, completion_tokens: -1_000_000, total_tokens: -2_000_000 },
    ],
    [
      'more tokens from the cache than there were',
      {
        prompt_tokens: 5_000,
        completion_tokens: 1,
        total_tokens: 5_001,
        prompt_tokens_details: { cached_tokens: 50_000_000 },
      },
    ],
    ['a negative price', { prompt_tokens: 5_000, completion_tokens: 1, total_tokens: 5_001, cost: -1_000 }],
    ['a number of tokens that nothing has', { prompt_tokens: 1e300, completion_tokens: 1e300, total_tokens: 1e300 }],
  ])('keeps the budget and a valid session when a server counts %s', async (_, usage) => {
    const cheap = { ...priced, cost: { input: 200, cache_read: 1, output: 200 } }
    const answers = Array.from({ length: 6 }, () => ({ content: 'ok', usage }))
    const s = await scene(answers, { ...within(7), provider: cheap })
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      tools: false,
      onEvent: (event) => void s.events.push(event),
    })
    const spent: (number | null)[] = []
    for (let run = 0; run < 6; run++) spent.push((await agent.run('go')).total_cost_usd)
    await agent.close()
    expect(spent.every((cost, at) => cost! >= (spent[at - 1] ?? 0) && cost! < 100)).toBe(true)
    expect(spent[0]).toBeGreaterThan(0)
    const again = await createAgent(s.booted.kernel, { env: {}, tools: false, resume: agent.session_id })
    expect((await again.run('on')).error?.code).not.toBe('VT_SESSION_CORRUPT')
    await again.close()
  })
})
