import { describe, expect, it } from 'vitest'
import { call, eventsOf, home, startPeer, vtcode } from '../../support/peer.js'

/** An override of another plugin that returns everything reachable through the conversation and tries to change it. */
const override = `
const reached = (value, path, found, seen) => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
  seen.add(value)
  for (const key of Reflect.ownKeys(value)) {
    const part = value[key]
    if (typeof value === 'function' && (key === 'length' || key === 'name')) continue
    found.push([...path, String(key)].join('.'))
    reached(part, [...path, String(key)], found, seen)
  }
}
const code = async (run) => { try { const result = await run(); return result.ok ? 'ok' : result.error.code } catch (error) { return error.code ?? error.name } }
export default async ({ input }, context) => {
  const { conversation } = context
  const found = []
  reached(conversation, [], found, new Set())
  return { ok: true, output: { title: '', items: [], notes: JSON.stringify({
    found,
    lent: 'lent' in context,
    changes: await code(async () => { conversation.tracker.list = () => 'mine'; return { ok: true } }),
    bad: await code(() => conversation.tracker.create({ title: 1, items: 'x' })),
    other: await code(() => conversation.delegation.send({ id: 'a1' })),
    strange: await code(() => conversation.tracker.add({ item: 'x', thread: 1 })),
    denied: await code(() => conversation.delegation.close({ id: 'a1' })),
    unknown: await code(() => conversation.delegation.send({ id: 'a1', message: 'Go on.' })),
    good: await code(() => conversation.tracker.create({ title: 'Mine', items: ['one'] })),
    listed: await code(() => conversation.tracker.list({})),
  }) } }
}
`
const manifest = 'name: mine\naction: task_tracker/list\nstage: override\nmodule: ./mine.js\n'
const actions = {
  tracker: ['create', 'update', 'add', 'list'],
  plan: ['propose'],
  schedule: ['create', 'list', 'delete'],
  delegation: ['spawn', 'send', 'wait', 'list', 'close'],
  report: ['finish'],
}

describe('conversation services', () => {
  it.each(['inline', 'process'])(
    'offers an override loaded %s five groups of functions over data and nothing else',
    async (isolate) => {
      await using peer = await startPeer([
        { toolCalls: [call('task_tracker', { action: 'list' })] },
        { content: 'done' },
      ])
      await using place = await home(peer, {})
      await place.write('../home/mine/mine.yaml', manifest)
      await place.write('../home/mine/mine.js', override)
      const { out } = await vtcode(place, [
        'exec',
        '--json',
        '--config',
        `manifests=["builtin","${place.home}/mine"]`,
        '--config',
        `plugins.isolate=${isolate}`,
        '--config',
        'policy.deny=["agents/close"]',
        'go',
      ])
      const output = eventsOf(out)
        .flatMap(({ type, item }) => (type === 'item.completed' && item.type === 'tool_output' ? [item.output] : []))
        .join()
      expect(output).toContain('"notes"')
      const seen = JSON.parse(JSON.parse(/"notes":("(?:[^"\\]|\\.)*")/.exec(output)![1]!) as string) as Record<
        string,
        unknown
      >
      const expected = Object.entries(actions).flatMap(([service, names]) => [
        service,
        ...names.map((name) => `${service}.${name}`),
      ])
      expect([...(seen['found'] as string[])].sort()).toEqual(expected.sort())
      expect(seen).toMatchObject({
        lent: false,
        changes: 'TypeError',
        bad: 'VT_INPUT_INVALID',
        other: 'VT_INPUT_INVALID',
        strange: 'VT_INPUT_INVALID',
        denied: 'VT_POLICY_DENIED',
        // A plugin starts no agents from a slot of another tool.
        unknown: 'VT_POLICY_DENIED',
        good: 'ok',
        listed: 'ok',
      })
    },
  )

  it.each(['inline', 'process'])(
    'offers none of them to a policy and a compactor of a plugin, loaded %s',
    async (isolate) => {
      await using peer = await startPeer([
        { toolCalls: [call('task_tracker', { action: 'list' })] },
        { content: 'done' },
      ])
      await using place = await home(peer, {})
      const judge = (name: string, kind: string) =>
        place.write(
          `../home/mine/${name}.yaml`,
          `name: ${name}\nkind: ${kind}\nslots: ["task_tracker/*"]\ntimeout_secs: 60\nmodule: ./${name}.js\n`,
        )
      await judge('watch', 'policy')
      await judge('short', 'compactor')
      await place.write(
        '../home/mine/watch.js',
        "export default (call, { conversation }) => (conversation ? { deny: 'served' } : undefined)\n",
      )
      await place.write(
        '../home/mine/short.js',
        "export default (result, call, { conversation }) => ({ ...result, notices: [{ code: 'MINE', message: conversation ? 'served' : 'not offered' }] })\n",
      )
      const { out } = await vtcode(place, [
        'exec',
        '--json',
        '--config',
        `manifests=["builtin","${place.home}/mine"]`,
        '--config',
        `plugins.isolate=${isolate}`,
        'go',
      ])
      expect(out).toContain('not offered')
      expect(out).not.toContain('served')
    },
  )
})
