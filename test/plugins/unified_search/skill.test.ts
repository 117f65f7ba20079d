import { describe, expect, it } from 'vitest'
import { bootKernel, matches, testAction } from 'vtcode/test'

const files = {
  '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use it.\n---\nBody.\n',
  '.agents/skills/demo/a.md': 'A\n',
}

describe('unified_search/skill', () => {
  for (const { title, run } of testAction('unified_search/skill')) it(title, run)

  it('infers the action skill from a name alone', async () => {
    await using booted = await bootKernel({ files })
    matches(await booted.call('unified_search', { name: 'demo' }), {
      output: { name: 'demo', instructions: 'Body.\n' },
    })
  })

  it('loads a skill for the session, like load_skill', async () => {
    await using booted = await bootKernel({ files })
    const first = await booted.call('unified_search', { action: 'skill', skill_name: 'demo' })
    expect((first as { text: string }).text).toMatch(/^<skill_content name="demo">/)
    matches(await booted.call('load_skill', { name: 'demo' }), { output: { already_loaded: true } })
    matches(await booted.call('load_skill_resource', { skill_name: 'demo', resource_path: 'a.md' }), {
      output: { content: 'A\n' },
    })
  })

  it('answers in detail when asked', async () => {
    await using booted = await bootKernel({ files })
    const result = await booted.call('unified_search', { action: 'skill', name: 'demo', response_format: 'detailed' })
    expect(result).not.toHaveProperty('text')
  })
})
