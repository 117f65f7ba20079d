import { describe, expect, it } from 'vitest'
import { eventOf, matches } from '../../../../build/plugins/lib/hooks/index.js'
import { fc } from '../../../support/property.js'

describe('the matcher of a hook', () => {
  it('that is a list means exactly the names in it', async () => {
    const name = fc.constantFrom('Read', 'Write', 'unified_file/read', 'mcp__a__b', 'Rea', 'eRead')
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('|', ',', ' | ', ', '),
        fc.array(name, { maxLength: 2 }),
        async (listed, between, names) => {
          expect(await matches(listed.join(between), names)).toBe(names.some((one) => listed.includes(one)))
        },
      ),
    )
  })
  it('that is an expression is looked for anywhere, in time linear in the name', async () => {
    expect(
      await Promise.all([
        matches('mcp__.*', ['mcp__a__b']),
        matches('^Read$', ['ReadAll']),
        matches('(Edit|Write)$', ['MultiEdit']),
        matches('.*', []),
      ]),
    ).toEqual([true, false, true, false])
    const started = performance.now()
    expect(await matches('^(a+)+$', [`${'a'.repeat(5000)}b`])).toBe(false)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
  it('that is absent, or cannot be read, is for every call: a guard is not lost to a slip', async () => {
    for (const matcher of [undefined, '', '*', '(', '[a', '(?=a)', `${'a'.repeat(600)}.`])
      expect([matcher, await matches(matcher, ['Read'])]).toEqual([matcher, true])
  })
})

describe('the name of an event', () => {
  it('is one in every spelling, and those of Gemini are names of ours', () => {
    const spellings = (name: string) => [
      name,
      name.toLowerCase(),
      name.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase(),
      name.replace(/(?<!^)([A-Z])/g, '_$1').toUpperCase(),
    ]
    for (const event of [
      'PreToolUse',
      'PermissionRequest',
      'PostToolUse',
      'PostToolUseFailure',
      'Notification',
      'SessionStart',
      'SessionEnd',
      'UserPromptSubmit',
      'Stop',
      'SubagentStart',
      'SubagentStop',
      'PreCompact',
      'PostCompact',
    ]) {
      expect(spellings(event).map(eventOf)).toEqual(Array(4).fill(event))
    }
    expect(['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent', 'PreCompress'].map(eventOf)).toEqual([
      'PreToolUse',
      'PostToolUse',
      'UserPromptSubmit',
      'Stop',
      'PreCompact',
    ])
  })
  it('of what never happens here is none', () => {
    expect(['WorktreeCreate', 'constructor', '', 'PreTool'].map(eventOf)).toEqual(Array(4).fill(undefined))
  })
})
