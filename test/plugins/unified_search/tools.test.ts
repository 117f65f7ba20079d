import { bootKernel, type Booted } from 'vtcode/test'
import { expect, it } from 'vitest'

const tools = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'tools', ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, text: result.text }
}

it('finds actions by their description and puts an exact name first', async () => {
  await using ws = await bootKernel()
  expect((await tools(ws, { keyword: 'outline symbols' })).tools[0]).toMatchObject({
    tool: 'unified_search',
    action: 'outline',
    source: 'slot',
    available: true,
  })
  expect((await tools(ws, { keyword: 'unified_file/read' })).tools[0]).toMatchObject({
    tool: 'unified_file',
    action: 'read',
  })
})
it('ranks skills among the tools', async () => {
  await using ws = await bootKernel({
    files: { '.agents/skills/zebra/SKILL.md': '---\nname: zebra\ndescription: Stripes for every zebra.\n---\nx\n' },
  })
  expect((await tools(ws, { keyword: 'zebra' })).tools).toMatchObject([
    { tool: 'zebra', source: 'skill', description: 'Stripes for every zebra.' },
  ])
})
it('shows the requested level of detail', async () => {
  await using ws = await bootKernel()
  const one = async (detail_level: string) =>
    Object.keys((await tools(ws, { keyword: 'unified_search/grep', max_results: 1, detail_level })).tools[0])
  expect(await one('name-only')).toEqual(['tool', 'action', 'source', 'available'])
  expect(await one('name')).toEqual(await one('name_only'))
  expect(await one('name_description')).toContain('description')
  expect(await one('full')).toEqual(expect.arrayContaining(['input', 'effects', 'plugin']))
})
it('marks tools that the mode does not allow as unavailable', async () => {
  await using ws = await bootKernel({ mode: 'plan' })
  expect((await tools(ws, { keyword: 'unified_file/write' })).tools[0]).toMatchObject({
    action: 'write',
    available: false,
  })
})
it('lists every tool for a star', async () => {
  await using ws = await bootKernel()
  expect(await tools(ws, { keyword: '*', max_results: 1 })).toMatchObject({ truncated: true, tools: [{}] })
})
