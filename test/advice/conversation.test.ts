import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { delegation, says } from '../support/delegation.js'
import { conversationSituations } from './conversation_situations.js'

// Advice about tools that only a conversation has: its model makes the refused call, then what the advice says.

describe('the advice of a conversation', () => {
  it.each(conversationSituations.map((one) => [one.code, one] as const))(
    'succeeds when it is followed after %s',
    async (code, { before = [], isOneStep, call: refused, advice, then, parts: agents = {}, where = {} }) => {
      const { isRepository, isPlan, ...scene } = where
      const [first, rest] = isOneStep ? [[before], [refused, ...then]] : [[], [...before, refused, ...then]]
      const steps = [...first, ...rest.map((one) => [one])].map((toolCalls) => ({ toolCalls: [...toolCalls] }))
      const s = await delegation([...steps, says('Done.')], agents, {
        approve: true,
        ...scene,
      })
      if (isRepository) commitAll(s.root)
      if (isPlan) await s.agent.setMode('plan')
      await s.agent.run('Work.')
      const answers = s.answers()
      expect(answers.map((text) => /^ERROR (\w+)/.exec(text)?.[1] ?? 'ok')).toEqual([
        ...before.map(() => 'ok'),
        code,
        ...then.map(() => 'ok'),
      ])
      expect(answers[before.length]).toMatch(advice)
    },
  )
})

/** Makes a repository with all files of a folder in its first commit. */
function commitAll(root: string): void {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b.example']
  for (const words of [
    ['init', '-q'],
    ['add', '-A'],
    [...who, 'commit', '-qm', 'first'],
  ])
    execFileSync('git', words, { cwd: root, stdio: 'ignore' })
}
