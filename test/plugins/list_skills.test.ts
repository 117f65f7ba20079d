import { describe, expect, it } from 'vitest'
import { bootKernel, matches, testAction, type Files } from 'vtcode/test'

const at = (name: string) => `.agents/skills/${name}/SKILL.md`
const skill = (name: string, description = `Use ${name}.`, more = '') =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\nBody.\n`
async function list(files: Files, input: object, before: [string, object][] = [], surface = 'test') {
  await using booted = await bootKernel({ files })
  for (const [tool, input] of before) await booted.call(tool, input)
  return await booted.call('list_skills', input, { surface })
}
const names = (result: Awaited<ReturnType<typeof list>>) =>
  result.ok ? (result.output as { skills: { name: string }[] }).skills.map(({ name }) => name) : []

describe('list_skills', () => {
  for (const { title, run } of testAction('list_skills')) it(title, run)

  it('finds skills by all words of a query in name and description, in any case', async () => {
    const files = {
      [at('alpha')]: skill('alpha', 'Writes RELEASE notes.'),
      [at('beta')]: skill('beta', 'Release trains.'),
    }
    expect(names(await list(files, { query: 'release Notes' }))).toEqual(['alpha'])
    expect(names(await list(files, { query: 'release', scope: 'workspace' }))).toEqual(['alpha', 'beta'])
    expect(names(await list(files, { query: 'nothing like it' }))).toEqual([])
  })

  it('pages skills, sorted by name', async () => {
    const files = Object.fromEntries(['c', 'a', 'b'].map((name) => [at(name), skill(name)]))
    const first = await list(files, { scope: 'workspace', per_page: 2 })
    expect(names(first)).toEqual(['a', 'b'])
    matches(first, {
      output: {
        total: 3,
        has_more: true,
        next: { tool: 'list_skills', input: { scope: 'workspace', per_page: 2, page: 2 } },
      },
    })
    expect(names(await list(files, { scope: 'workspace', per_page: 2, page: 2 }))).toEqual(['c'])
  })

  it('shows which skills are loaded, their keywords and their locations', async () => {
    const files = { [at('demo')]: skill('demo', 'Use it.', 'metadata:\n  keywords: one, two\n') }
    matches(await list(files, { scope: 'workspace' }, [['load_skill', { name: 'demo' }]]), {
      output: {
        skills: [{ name: 'demo', loaded: true, keywords: ['one', 'two'], path: at('demo'), scope: 'workspace' }],
      },
    })
  })

  it('names every unusable skill with the reason', async () => {
    const result = await list(
      { [at('demo')]: skill('demo'), [at('bad')]: '---\nname: bad\n---\n' },
      { scope: 'workspace' },
    )
    matches(result, { output: { total: 1, skipped: [{ path: `${at('bad')}:2`, reason: 're:.*no description.*' }] } })
    expect((result as { text: string }).text).toContain('skipped')
  })

  it('names the loser of a name collision by its qualified name', async () => {
    expect(names(await list({ [at('debugging')]: skill('debugging') }, { query: 'debugging' }))).toEqual([
      'debugging',
      'workspace:debugging',
    ])
  })

  it('shows a skill with disable-model-invocation to the user only', async () => {
    const files = { [at('demo')]: skill('demo', 'Use it.', 'disable-model-invocation: yes\n') }
    expect(names(await list(files, { scope: 'workspace' }))).toEqual([])
    expect(names(await list(files, { scope: 'workspace' }, [], 'call'))).toEqual(['demo'])
  })
})
