import { describe, expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { rounds } from '../../../support/exec.js'
import { harness, scene, type Scene } from '../../../support/inside.js'
import { checkLog, checkMemory, checkMessages } from '../../../support/invariants.js'
import { call, type Answer } from '../../../support/peer.js'
import { fc, runs } from '../../../support/property.js'

const files = Object.fromEntries(
  Array.from({ length: 12 }, (_, index) => [`f${index}.txt`, `word${index} of a large file\n`.repeat(400)]),
)
const read = (index: number): Answer => ({
  toolCalls: [call('unified_file', { action: 'read', path: `f${index}.txt` })],
})
const isSummary = (body: any): boolean => JSON.stringify(body.messages).includes('You shorten the record')
const summary = JSON.stringify({
  goal: 'compare the files',
  constraints: ['change nothing'],
  done: ['read f0.txt'],
  facts: [{ fact: 'f0 holds word0', source: 'unified_file/read f0.txt' }],
  open_questions: [],
  next_steps: ['read the rest'],
})
const small = { provider: { context_window: 20_000 } }
// The peer's record leaves out large bodies; `asked` holds every request to the latest script.
let asked: any[] = []
const requests = () => ({ steps: asked.filter((body) => !isSummary(body)), summaries: asked.filter(isSummary) })
const boundaries = (s: Scene): any[] => s.events.filter(({ type }) => type === 'thread.compact_boundary')
const sizeOf = (body: any): number => JSON.stringify(body.messages).length / 4

/** Answers steps in order, and each request for a summary with the next of `summaries`. */
function script(steps: Answer[], summaries: Answer[] = []): ((body: any) => Answer)[] {
  const left = { steps: [...steps], summaries: [...summaries] }
  asked = []
  return Array.from(
    { length: 60 },
    () => (body: any) => (
      asked.push(body),
      isSummary(body) ? (left.summaries.shift() ?? { content: summary }) : (left.steps.shift() ?? { content: 'done' })
    ),
  )
}

const tooLong: Answer = { error: { message: "This model's maximum context length is 9000 tokens" }, status: 400 }

describe('compaction of a long conversation', () => {
  it('compacts before the model refuses: memory, summary, last messages and the newest calls whole', async () => {
    const s = await scene(
      script([...Array.from({ length: 8 }, (_, index) => read(index)), { content: 'All compared.' }]),
      { ...small, boot: { files } },
    )
    const outcome = await s.run('compare all of them')
    expect(outcome).toMatchObject({ outcome_code: 'success', text: 'All compared.' })
    const { steps, summaries } = requests()
    expect(summaries.length).toBeGreaterThan(0)
    for (const body of steps) {
      checkMessages(body.messages)
      expect(sizeOf(body)).toBeLessThan(20_000)
    }
    const [, memory, shortened, words] = steps.at(-1).messages.map(({ content }: any) => content)
    expect(memory).toMatch(
      /^<session_memory>\n## Summary\ncompare the files[\s\S]*## Objective\ncompare all of them[\s\S]*## History Artifact\n\.vtcode\/history\/ses_/,
    )
    expect(shortened).toMatch(
      /^<conversation_summary>\nGoal: compare the files[\s\S]*f0 holds word0 \(unified_file\/read f0\.txt\)/,
    )
    expect(words).toBe('compare all of them')
    expect(steps.at(-1).messages.at(-1).content).toContain('word7 of a large file')
    const [boundary] = boundaries(s)
    expect(boundary).toMatchObject({
      trigger: 'auto',
      mode: 'local',
      deduped_reads: 0,
      history_artifact_path: `.vtcode/history/${outcome.session_id}_1.jsonl`,
    })
    expect(boundary.tokens_after).toBeLessThan(boundary.tokens_before)
    expect(boundary.new_segment_id).not.toBe(boundary.previous_segment_id)
    const archived = (await s.booted.read(boundary.history_artifact_path))!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(archived).toHaveLength(boundary.original_message_count)
    expect(checkMemory((await s.booted.read(`.vtcode/history/${outcome.session_id}_1.memory.json`))!)).toMatchObject({
      schema_version: 3,
      objective: 'compare all of them',
      constraints: ['change nothing'],
    })
    expect(checkMemory((await s.booted.read(`.vtcode/sessions/${outcome.session_id}/memory.json`))!)).toMatchObject({
      schema_version: 3,
      history_artifact_path: expect.stringContaining('.vtcode/history/'),
    })
    checkLog(s.events)
  })
  it('keeps the instruction files of the repository in every request', async () => {
    const s = await scene(
      script([...Array.from({ length: 8 }, (_, index) => read(index)), { content: 'All compared.' }]),
      { ...small, boot: { files: { ...files, 'AGENTS.md': 'Never commit without a review.\n' } } },
    )
    await s.run('compare all of them')
    const { steps, summaries } = requests()
    expect(summaries.length).toBeGreaterThan(0)
    for (const { messages } of steps) expect(JSON.stringify(messages)).toContain('Never commit without a review.')
  })
  it('compacts even when the summarising model answers prose, an error or a cut answer', async () => {
    const broken: Answer = { content: summary, how: { truncateAfterChunks: 2, chunkSize: 5 } }
    const cut = await scene([read(0), read(1), tooLong, broken, broken, { content: 'All compared.' }], {
      boot: { files },
    })
    expect(await cut.run('compare all of them')).toMatchObject({ outcome_code: 'success', text: 'All compared.' })
    expect(cut.peer.bodies.at(-1).messages[2].content).toContain('In progress:\n- compare all of them')
    const poor: Answer[][] = [
      [{ content: 'It was a nice conversation.' }, { content: 'I said so already.' }, { content: '{"goal": [' }],
      [
        { error: { message: 'down' }, status: 500 },
        { error: { message: 'down' }, status: 500 },
      ],
    ]
    for (const summaries of poor) {
      const s = await scene(
        script(
          [...Array.from({ length: 5 }, (_, index) => read(index)), { content: 'All compared.' }],
          [...summaries, ...summaries, ...summaries],
        ),
        { ...small, boot: { files } },
      )
      expect(await s.run('compare all of them')).toMatchObject({ outcome_code: 'success', text: 'All compared.' })
      const { steps } = requests()
      expect(steps.at(-1).messages[2].content).toContain('compare all of them')
      for (const body of steps) checkMessages(body.messages)
      checkLog(s.events)
    }
  })
  it('returns an invalid summary with its faults to the model, twice at most, and counts every cost', async () => {
    const answers = [
      { content: '{"goal": 7, "facts": [{"fact": "f"}]}' },
      { content: `{"goal": "g", "constraints": "none"}` },
      { content: `Here it is:\n\`\`\`json\n${summary}\n\`\`\`\nAsk me for more.` },
    ]
    const s = await scene(
      script([...Array.from({ length: 5 }, (_, index) => read(index)), { content: 'All compared.' }], answers),
      { ...small, boot: { files } },
    )
    expect(await s.run('compare all of them')).toMatchObject({ outcome_code: 'success' })
    const { steps, summaries } = requests()
    const [first, second, third] = summaries
    expect([second.messages.length - first.messages.length, third.messages.length - second.messages.length]).toEqual([
      2, 2,
    ])
    expect(summaries.map(({ tool_choice }) => tool_choice)).toEqual(['none', 'none', 'none'])
    expect(second.messages.at(-1).content).toMatch(
      /^That does not fit: .*goal.*string.*source[\s\S]*Answer with the JSON object alone\.$/,
    )
    expect(third.messages.at(-1).content).toMatch(/constraints/)
    expect(steps.at(-1).messages[2].content).toContain('Goal: compare the files')
    checkLog(s.events)
  })
  it('asks for the summary at the end of the old part, and another model by a record of it', async () => {
    const steps = [...Array.from({ length: 8 }, (_, index) => read(index)), { content: 'All compared.' }]
    const s = await scene(script(steps), { ...small, boot: { files } })
    expect(await s.run('compare all of them')).toMatchObject({ outcome_code: 'success' })
    const at = asked.findIndex(isSummary)
    const [before, first] = [asked[at - 1], asked[at]]
    expect(first.tools).toEqual(before.tools)
    const old = first.messages.slice(0, -1)
    expect(old.length).toBeGreaterThan(5)
    expect(old).toEqual(before.messages.slice(0, old.length))
    expect(first.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/^You shorten the record[\s\S]*The record is everything above this\.$/),
    })
    checkLog(s.events)
    const other = await scene(script(steps), {
      ...small,
      provider: { ...small.provider, models: ['m', 'little'] },
      settings: { agent: { model: 'peer/m', small_model: 'peer/little' } },
      boot: { files },
    } as never)
    expect(await other.run('compare all of them')).toMatchObject({ outcome_code: 'success' })
    const [summary] = requests().summaries
    expect(summary).toMatchObject({
      model: 'little',
      messages: [
        { role: 'system', content: expect.stringContaining('You shorten the record') },
        { content: expect.stringContaining('<record>') },
      ],
    })
    expect(summary).not.toHaveProperty('tools')
  })
  it('compacts one long user message to its beginning and the path of the rest', async () => {
    const s = await scene(script([{ content: 'read' }]), small)
    const task = `start ${'please '.repeat(100_000)}the end`
    expect(await s.run(task)).toMatchObject({ outcome_code: 'success', text: 'read' })
    const [body] = requests().steps
    expect(sizeOf(body)).toBeLessThan(20_000)
    const path = /^start (?:please )+[\s\S]*cut here: 700013 bytes, full text in (\S+)$/.exec(
      body.messages.at(-1).content,
    )![1]!
    expect(await s.booted.read(path)).toBe(task)
    checkLog(s.events)
  })
  it('compacts once when the server reports an overflow and keeps every result', async () => {
    const s = await scene(script([read(0), read(1), tooLong, { content: 'ok' }]), { boot: { files } })
    expect(await s.run('compare')).toMatchObject({ outcome_code: 'success', text: 'ok' })
    expect(boundaries(s)).toMatchObject([{ trigger: 'recovery' }])
    expect(requests().steps.at(-1).messages.at(-1).content).toContain('word1 of a large file')
    const t = await scene(script([read(0), tooLong, tooLong]), { boot: { files } })
    expect((await t.run('compare')).error?.code).toBe('VT_LLM_CONTEXT')
    checkLog(t.events)
  })
  it('ends the run as handed_off when compaction saves nothing more', async () => {
    const s = await scene(
      script(
        Array.from({ length: 20 }, (_, index) => read(index % 12)),
        Array.from({ length: 20 }, () => ({ content: JSON.stringify({ goal: 'g '.repeat(1000) }) })),
      ),
      {
        settings: { agent: { model: 'peer/m', harness: { auto_compaction_threshold_tokens: 500 } } },
        boot: { files },
      },
    )
    expect(await s.run('x '.repeat(200))).toMatchObject({
      outcome_code: 'handed_off',
      exit_code: 1,
      error: { code: 'VT_CONTEXT_STUCK' },
    })
    checkLog(s.events)
  })
  it('compacts on request with a focus and continues in the next process', async () => {
    const s = await scene(
      script([
        ...Array.from({ length: 6 }, (_, index) => [read(index), { content: `seen ${index}` }]).flat(),
        { content: 'later' },
      ]),
      { boot: { files } },
    )
    const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void s.events.push(event) })
    for (let turn = 0; turn < 6; turn++) await agent.run(`look at ${turn}`)
    expect(await agent.compact('the colours')).toBe(true)
    await agent.close()
    expect(requests().summaries[0].messages.at(-1).content).toContain('Keep above all what concerns: the colours')
    checkLog(s.events)
    const again = await createAgent(s.booted.kernel, { env: {}, resume: agent.session_id })
    expect(await again.run('and now?')).toMatchObject({ text: 'later' })
    await again.close()
    const said = asked
      .at(-1)
      .messages.filter(({ role }: any) => role === 'user')
      .map(({ content }: any) => content)
    expect(said.slice(-5)).toEqual(['look at 2', 'look at 3', 'look at 4', 'look at 5', 'and now?'])
    expect(said.slice(0, 2)).toEqual([
      expect.stringContaining('<session_memory>'),
      expect.stringContaining('<conversation_summary>'),
    ])
    checkMessages(asked.at(-1).messages)
  })
  it('runs compaction hooks, which can forbid the compaction or repeat their start text', async () => {
    const hooks = {
      PreCompact: [{ hooks: [{ command: 'test -e allowed || { echo not now >&2; exit 2; }' }] }],
      PostCompact: [{ hooks: [{ command: 'cat > told' }] }],
      SessionStart: [{ matcher: 'compact', hooks: [{ command: 'echo Mind the colours.' }] }],
    }
    const s = await scene(
      script([
        ...Array.from({ length: 6 }, (_, index) => [read(index), { content: `seen ${index}` }]).flat(),
        { content: 'later' },
      ]),
      { boot: { files, config: { hooks } as never } },
    )
    const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void s.events.push(event) })
    for (let turn = 0; turn < 6; turn++) await agent.run(`look at ${turn}`)
    expect([await agent.compact(), boundaries(s)]).toEqual([false, []])
    await s.booted.write('allowed', '')
    expect(await agent.compact()).toBe(true)
    expect(JSON.parse((await s.booted.read('told'))!)).toMatchObject({
      hook_event_name: 'PostCompact',
      trigger: boundaries(s)[0].trigger,
    })
    await agent.run('and now?')
    await agent.close()
    expect(
      asked
        .at(-1)
        .messages.slice(-2)
        .map(({ content }: any) => content)
        .sort(),
    ).toEqual(['Mind the colours.', 'and now?'])
    checkMessages(asked.at(-1).messages)
  })
  it('leaves a short conversation alone, and any when compaction is off', async () => {
    const s = await scene(script([{ content: 'hello' }]))
    const agent = await createAgent(s.booted.kernel, { env: {} })
    await agent.run('hi')
    expect(await agent.compact()).toBe(false)
    await agent.close()
    const t = await scene(script([read(0), read(1), read(2), read(3), read(4), { content: 'ok' }]), {
      ...small,
      boot: { files },
      settings: { agent: { model: 'peer/m', harness: { auto_compaction_enabled: false } } },
    })
    await t.run('go')
    expect([boundaries(t), harness(t.events, 'context_cleared')]).toEqual([[], []])
  })
  it('compacts when a smaller model takes over', async () => {
    const overloaded: Answer = { error: { message: 'insufficient_quota', code: 'insufficient_quota' }, status: 429 }
    const s = await scene(script([read(0), read(1), read(2), read(3), read(4), overloaded, { content: 'ok' }]), {
      boot: { files },
      provider: { models: { m: {}, tiny: { context_window: 16_000 } } },
      settings: { agent: { model: 'peer/m', fallback_models: ['peer/tiny'] } },
    })
    expect(await s.run('go')).toMatchObject({ text: 'ok' })
    expect(boundaries(s)).toMatchObject([{ trigger: 'model_switch' }])
  })
})

it('keeps over many compactions the newest items, each once in any case, five at most', async () => {
  const word = fc.constantFrom('tabs', 'TABS', 'no any', 'No Any', 'keep a.ts', 'x', 'y', 'z')
  const list = fc.array(word, { maxLength: 7 })
  const one = fc.record({
    constraints: list,
    open_questions: list,
    facts: fc.array(fc.record({ fact: word, source: word }), { maxLength: 7 }),
  })
  /** Keeps the last of equal texts, in the order of their last occurrence. */
  const newest = <T>(all: T[], textOf: (item: T) => string): T[] =>
    all
      .filter(
        (item, index) =>
          all.findLastIndex((other) => textOf(other).toLowerCase() === textOf(item).toLowerCase()) === index,
      )
      .slice(-5)
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 2, maxLength: 4 }), async (summaries) => {
      const s = await scene(
        script(
          Array.from({ length: 24 }, () => ({ content: 'and so on '.repeat(2000) })),
          summaries.map((said) => ({ content: JSON.stringify({ goal: 'g', ...said }) })),
        ),
      )
      const agent = await createAgent(s.booted.kernel, { env: {} })
      for (const _ of summaries) {
        for (let turn = 0; turn < 6; turn++) await agent.run(`turn ${turn}`)
        expect(await agent.compact()).toBe(true)
      }
      await agent.close()
      const memory = checkMemory((await s.booted.read(`.vtcode/sessions/${agent.session_id}/memory.json`))!)
      expect(memory.constraints).toEqual(
        newest(
          summaries.flatMap(({ constraints }) => constraints),
          String,
        ),
      )
      expect(memory.open_questions).toEqual(
        newest(
          summaries.flatMap(({ open_questions }) => open_questions),
          String,
        ),
      )
      expect(memory.grounded_facts).toEqual(
        newest(
          summaries.flatMap(({ facts }) => facts),
          ({ fact }) => fact,
        ),
      )
    }),
    { numRuns: runs(rounds(2, 3)) },
  )
}, 600_000)

describe('repeated reads before a summary', () => {
  const body = Array.from({ length: 120 }, (_, index) => `line ${index + 1} of a`).join('\n') + '\n'
  it('folds repeated reads before the summary: one full copy, the newest, and the changes', async () => {
    const exec = (command: string): Answer => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
    const a: Answer = { toolCalls: [call('unified_file', { action: 'read', path: 'a.ts' })] }
    const steps: Answer[] = [
      a,
      exec("sed -n '1,80p' a.ts"),
      { toolCalls: [call('unified_file', { action: 'read', path: 'missing.ts' })] },
      {
        toolCalls: [
          call('unified_file', { action: 'edit', path: 'a.ts', old_str: 'line 5 of a', new_str: 'LINE 5 of a' }),
        ],
      },
      a,
      {
        toolCalls: [
          call('unified_file', { action: 'edit', path: 'a.ts', old_str: 'line 6 of a', new_str: 'LINE 6 of a' }),
        ],
      },
      { content: 'read' },
    ]
    const s = await scene(script(steps), { boot: { files: { 'a.ts': body }, mode: 'full-auto' } })
    const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void s.events.push(event) })
    await agent.run('read them')
    await agent.run('more')
    expect(await agent.compact()).toBe(true)
    await agent.close()
    const record = JSON.stringify(requests().summaries[0].messages)
    expect(boundaries(s)[0].deduped_reads).toBe(2)
    expect(record.split('line 100 of a').length - 1).toBe(1)
    expect(record).toContain('LINE 5 of a')
    expect(record).toMatch(/file changed after this read by call c6-0/)
    expect(record).toContain('VT_PATH_NOT_FOUND')
    expect(record.split('deduped_read').length - 1).toBe(2)
  })
})
