import { describe, expect, it } from 'vitest'
import { dedupe, computeTokenBudget } from '../../../../build/plugins/agent/context/index.js'
import { fc, runs } from '../../../support/property.js'

describe('computeTokenBudget', () => {
  it('leaves room for the answer in every context window and compacts before the hard limit', () => {
    type Arguments = Parameters<typeof computeTokenBudget>
    const size = fc.integer({ min: 1000, max: 2_000_000 })
    fc.assert(
      fc.property(
        fc.option(size, { nil: undefined }),
        fc.option(size, { nil: undefined }),
        fc.boolean(),
        fc.option(size, { nil: undefined }),
        fc.option(size, { nil: 0 }),
        size,
        (context_window, max_output_tokens, byDefault, threshold, max_context_tokens, lowered) => {
          const model = {
            facts: { context_window, max_output_tokens },
            sources: { max_output_tokens: byDefault ? 'default' : 'user' },
          } as unknown as Arguments[0]
          const settings = {
            harness: { auto_compaction_threshold_tokens: threshold },
            context: { max_context_tokens },
          } as unknown as Arguments[1]
          const budget = computeTokenBudget(model, settings, lowered)
          expect(budget.window).toBe(Math.min(context_window ?? Infinity, lowered))
          expect(budget.hard + budget.output).toBeLessThanOrEqual(budget.window)
          expect(budget.output).toBeGreaterThan(0)
          expect(budget.output).toBeLessThanOrEqual(
            Math.min(32_000, max_output_tokens ?? Infinity, budget.window / (byDefault ? 4 : 2)),
          )
          expect(budget.hard).toBeGreaterThan(0)
          expect(budget.soft).toBeLessThan(budget.hard)
          if (threshold !== undefined) expect(budget.hard).toBeLessThanOrEqual(threshold)
          else if (max_context_tokens > 0) expect(budget.hard).toBeLessThanOrEqual(max_context_tokens)
        },
      ),
      { numRuns: runs(500) },
    )
  })
})

describe('dedupe', () => {
  type Arguments = Parameters<typeof dedupe>
  interface Step {
    path: 'a' | 'b'
    kind: 'read' | 'page' | 'change'
    start: number
    length: number
  }
  const step: fc.Arbitrary<Step> = fc.record({
    path: fc.constantFrom('a' as const, 'b' as const),
    kind: fc.constantFrom('read' as const, 'page' as const, 'page' as const, 'change' as const),
    start: fc.integer({ min: 1, max: 4 }),
    length: fc.integer({ min: 0, max: 3 }),
  })
  const built = (steps: Step[]) => {
    const messages = steps.map(({ path, kind, start, length }, index) => {
      const text = kind === 'page' ? `text\n[lines ${start}-${start + length} of 9]` : 'text'
      return {
        role: 'tool' as const,
        parts: [
          {
            type: 'tool_result' as const,
            call_id: `c${index}`,
            tool_call_id: `c${index}`,
            name: 't',
            text,
            is_error: false,
            ...(kind === 'change' && { changed: [path] }),
          },
        ],
      }
    })
    const meanings = new Map(
      steps.map(({ path, kind }, index) => [
        `c${index}`,
        {
          slot: { slot: kind === 'change' ? 'unified_file/edit' : 'unified_file/read' },
          input: { path: index % 2 ? path : `./${path}` },
        },
      ]),
    )
    return dedupe(messages as Arguments[0], meanings as unknown as Arguments[1])
  }
  const range = ({ kind, start, length }: Step): [number, number] =>
    kind === 'page' ? [start, start + length] : [1, Infinity]
  const holds = (one: Step, other: Step): boolean =>
    one.path === other.path &&
    one.kind !== 'change' &&
    range(one)[0] <= range(other)[0] &&
    range(one)[1] >= range(other)[1]

  it('keeps the newest copy of every line and names its call', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
        const { texts, reads } = built(steps)
        const omitted = (index: number) => texts[`c${index}`]?.startsWith('{"deduped_read"') ?? false
        expect(reads).toBe(steps.filter((_, index) => omitted(index)).length)
        steps.forEach((one, index) => {
          if (one.kind === 'change') return expect(texts[`c${index}`]).toBeUndefined()
          expect([index, omitted(index)]).toEqual([index, steps.some((other, at) => at > index && holds(other, one))])
          if (omitted(index)) {
            const newer = Number(
              (JSON.parse(texts[`c${index}`]!) as { newest_call_id: string }).newest_call_id.slice(1),
            )
            expect([newer > index, omitted(newer), holds(steps[newer]!, one)]).toEqual([true, false, true])
            return
          }
          // The remaining copy has a mark when a later call changed its file.
          const overtaken = steps.some((other, at) => at > index && other.kind === 'change' && other.path === one.path)
          expect(texts[`c${index}`]?.includes('[file changed after this read by call') ?? false).toBe(overtaken)
        })
      }),
      { numRuns: runs(500) },
    )
  })
  it('counts a command as a read only when it plainly reads one file and succeeds', () => {
    const after = (command: string, text = 'text\n[exit 0]') => {
      const part = (call_id: string, text: string) => ({
        role: 'tool',
        parts: [{ type: 'tool_result', call_id, tool_call_id: call_id, name: 't', text, is_error: false }],
      })
      const meanings = new Map([
        ['c0', { slot: { slot: 'unified_exec/run' }, input: { command } }],
        ['c1', { slot: { slot: 'unified_file/read' }, input: { path: 'a' } }],
      ])
      return dedupe(
        [part('c0', text), part('c1', 'text')] as unknown as Arguments[0],
        meanings as unknown as Arguments[1],
      ).reads
    }
    expect(
      ['cat a', 'cat  ./a', 'head -n 3 a', "sed -n '1,3p' a", 'tail -n +2 a', 'nl -ba a'].map((command) =>
        after(command),
      ),
    ).toEqual(Array(6).fill(1))
    expect(
      ['cat a b', 'cat a | grep x', 'cat a; rm a', 'cat *', 'cat $A', 'sed -i 1d a', 'cat -v', 'cat b'].map((command) =>
        after(command),
      ),
    ).toEqual(Array(8).fill(0))
    expect(after('cat a', 'no such file\n[exit 1]')).toBe(0)
  })
})
