import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const part = (name: string): Promise<any> => import(new URL(`./tokens/${name}.mjs`, import.meta.url).href)
const here = process.env['TMPDIR']!

let parts: {
  agents: any[]
  tasks: any[]
  startModel: () => Promise<any>
  raced: any
  twice: any
  rowsOf: any
  install: any
  racedOverMcp: any
  servers: any[]
}
let model: any
beforeAll(async () => {
  parts = Object.assign({}, ...(await Promise.all(['agents', 'tasks', 'model', 'race', 'rows', 'mcp'].map(part))))
  model = await parts.startModel()
})
afterAll(() => model?.close())

const how = { root: join(here, 'race'), tokensOf: (text: string) => text.split(' ') }
const task = (id: string) => parts.tasks.find((one) => one.id === id)
const agent = (name: string) => parts.agents.find((one) => one.name === name)
const silent = () => {}
/** A registry that no program can reach. */
const registry = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' }

describe('the race', () => {
  it.each(['openai-chat', 'openai-responses', 'anthropic-messages', 'google-generative-ai'])(
    'sends the same bytes in two runs of ours, on %s',
    async (wire) => {
      const ours = agent(wire === 'openai-chat' ? 'vtcode' : `vtcode, ${wire}`)
      // Several edits in one call, durations and failures, output that is put aside, an image: the same on every wire.
      const same = ['patch of nine hunks', 'wrong path, typo, stale file: recover', 'noisy failing build', 'an image']
      // The second process of this task reads the provider messages that the first one stored.
      const own = ['resume and finish']
      for (const id of wire === 'openai-chat' || process.env['VTCODE_SOAK'] ? [...same, ...own] : own) {
        const run = await parts.twice(model, ours, task(id), how)
        expect(run, id).toMatchObject({ finished: true, again: true, lost: [], wrong: [] })
      }
    },
  )

  it('begins with at most 7,500 bytes in an empty folder, 6,000 of them the list', async () => {
    const nothing = { id: 'nothing', files: {}, question: 'What is here?', ours: [], facts: [], end: {} }
    const run = await parts.raced(model, agent('vtcode'), nothing, how)
    expect(run).toMatchObject({ finished: true, requests: 1 })
    expect(run.first).toBeLessThanOrEqual(7_500)
    expect(Buffer.byteLength(JSON.stringify(model.state.requests[0].body.tools))).toBeLessThanOrEqual(6_000)
  })

  it('asks for a summary after the messages sent before, and continues with the facts', async () => {
    const run = await parts.raced(model, agent('vtcode'), task('30 steps with a compaction'), how)
    expect(run).toMatchObject({ finished: true, lost: [] })
    // All that was read costs once as much as it is long, and what is read again a tenth.
    expect(run.prefixed_bytes / run.bytes).toBeLessThan(0.25)
  })

  it('calls a task lost after a fact never seen, an unexpected file or a step left over', async () => {
    const ours = agent('vtcode')
    const fix = task('fix one line and test')
    expect(await parts.raced(model, ours, { ...fix, facts: ['never printed'] }, how)).toMatchObject({
      finished: false,
      lost: ['never printed'],
    })
    expect(await parts.raced(model, ours, { ...fix, end: { 'sum.js': 'other' } }, how)).toMatchObject({
      finished: false,
      wrong: ['sum.js'],
    })
    const wasteful = {
      ...fix,
      ours: [...fix.ours, [{ name: 'unified_file', input: { action: 'write', path: 'left.txt', content: '' } }]],
    }
    expect(await parts.raced(model, ours, wasteful, how)).toMatchObject({ finished: false, wrong: ['left.txt'] })
  })

  it('continues after a peer that fails to install or changed its flags, and names the reason', async () => {
    Object.assign(process.env, registry)
    const [two, run] = [
      [task('move and delete'), task('resume and finish')],
      (one: any) => parts.raced(model, changed, one, how),
    ]
    const changed = { ...agent('vtcode'), command: () => ({ argv: [process.execPath, '--no-such-flag', 'exec'] }) }
    try {
      const gone = await parts.rowsOf(
        { name: 'gone' },
        two,
        () => parts.install(join(here, 'installs'), '@vtcode/no-such-agent'),
        run,
        silent,
      )
      expect(gone.map((row: any) => row.run.reason)).toEqual([
        expect.stringContaining('it cannot be installed: npm error'),
        expect.stringContaining('it cannot be installed: npm error'),
      ])
    } finally {
      for (const name of Object.keys(registry)) delete process.env[name]
    }
    const rows = await parts.rowsOf(changed, two, () => undefined, run, silent)
    expect(rows.map((row: any) => row.run.reason)).toEqual(
      Array(2).fill(expect.stringMatching(/^it asked the model nothing: .*--no-such-flag/)),
    )
  })

  it('reaches over MCP what it reaches as an agent', async () => {
    const ours = parts.servers.find(({ name }) => name === 'vtcode mcp')
    for (const id of ['patch of nine hunks', 'wrong path, typo, stale file: recover']) {
      expect(await parts.racedOverMcp(ours, task(id), how), id).toMatchObject({ finished: true })
    }
  })
})
