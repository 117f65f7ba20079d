import { describe, expect, it } from 'vitest'
import { parseEventName, hasMatch } from '../../../../build/plugins/lib/hooks/index.js'
import { fc } from '../../../support/property.js'

describe('hook matcher', () => {
  it('matches exactly the names of a list', async () => {
    const name = fc.constantFrom('Read', 'Write', 'unified_file/read', 'mcp__a__b', 'Rea', 'eRead')
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('|', ',', ' | ', ', '),
        fc.array(name, { maxLength: 2 }),
        async (listed, between, names) => {
          expect(await hasMatch(listed.join(between), names)).toBe(names.some((one) => listed.includes(one)))
        },
      ),
    )
  })
  it('matches an expression anywhere in time linear in the name', async () => {
    expect(
      await Promise.all([
        hasMatch('mcp__.*', ['mcp__a__b']),
        hasMatch('^Read$', ['ReadAll']),
        hasMatch('(Edit|Write)$', ['MultiEdit']),
        hasMatch('.*', []),
      ]),
    ).toEqual([true, false, true, false])
    const started = performance.now()
    expect(await hasMatch('^a*a*$', [`${'a'.repeat(5000)}b`])).toBe(false)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
  it('matches every call when the matcher is absent or unreadable', async () => {
    for (const matcher of [undefined, '', '*', '(', '[a', '(?=a)', `${'a'.repeat(600)}.`])
      expect([matcher, await hasMatch(matcher, ['Read'])]).toEqual([matcher, true])
  })
})

describe('hook event names', () => {
  it('recognises an event in every spelling and maps names of Gemini', () => {
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
      expect(spellings(event).map(parseEventName)).toEqual(Array(4).fill(event))
    }
    expect(['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent', 'PreCompress'].map(parseEventName)).toEqual([
      'PreToolUse',
      'PostToolUse',
      'UserPromptSubmit',
      'Stop',
      'PreCompact',
    ])
  })
  it('rejects names of events that never happen', () => {
    expect(['WorktreeCreate', 'constructor', '', 'PreTool'].map(parseEventName)).toEqual(Array(4).fill(undefined))
  })
})
