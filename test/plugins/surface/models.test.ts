import { afterEach, expect, it } from 'vitest'
import { call, home, startPeer, vtcode } from '../../support/peer.js'
import { serve } from '../../support/server.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('lists models with the source of each fact, and tries one', async () => {
  const peer = await startPeer([
    { toolCalls: [call('ping', {})] },
    { content: 'pong' },
    { error: { message: 'no such key' }, status: 401 },
  ])
  const place = await home(
    peer,
    {},
    {
      provider: {
        display_name: 'The peer',
        context_window: 1000,
        models: { m: { context_window: 2000 }, n: {} },
        profiles: { m: { supports_vision: false } },
      },
    },
  )
  held.push(peer, place)
  expect((await vtcode(place, ['models', '--text'])).out).toBe(
    'peer/m  The peer  openai-chat  2000 tokens\npeer/n  The peer  openai-chat  1000 tokens\n',
  )
  const { out } = await vtcode(place, ['models', 'describe', 'peer/m', '--text'])
  expect(out).toMatch(/context_window\s+2000\s+models\."m"/)
  expect(out).toMatch(/supports_vision\s+false\s+profiles\."m"/)
  expect(out).toMatch(/max_output_tokens\s+32000\s+default/)
  expect(JSON.parse((await vtcode(place, ['models', 'check', 'peer/m'])).out)).toMatchObject({
    model: 'peer/m',
    answered: true,
    calls_tools: true,
  })
  expect(JSON.parse((await vtcode(place, ['models', 'check', 'peer/n'])).out)).toMatchObject({ calls_tools: false })
  expect(await vtcode(place, ['models', 'check', 'peer/m'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('VT_LLM_AUTH'),
  })
  expect(peer.asked.length).toBe(3)
})

it('ends vtcode models check at Ctrl-C while a server is silent, and prints nothing', async () => {
  let asked: () => void = () => {}
  const heard = new Promise<void>((resolve) => (asked = resolve))
  const silent = await serve(() => asked())
  const place = await home(silent)
  held.push(silent, place)
  const ran = await vtcode(place, ['models', 'check', 'peer/m'], {
    started: (child) => void heard.then(() => child.kill('SIGINT')),
  })
  expect(ran).toEqual({ code: 130, out: '', err: '' })
})
