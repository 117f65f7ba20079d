import { basename } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { expect, it } from 'vitest'

it('tells versions, engines and counts, and no secrets or machine paths', async () => {
  process.env['CANARY_TOKEN'] = 'sk-CANARY-1234567890'
  await using ws = await bootKernel({ mode: 'ask', files: { 'notes.txt': 'sk-CANARY-in-a-file' } })
  const result = await ws.call('unified_search', { action: 'agent', mode: 'analyze' })
  delete process.env['CANARY_TOKEN']
  expect(result).toMatchObject({
    ok: true,
    output: {
      node: process.version,
      mode: 'ask',
      surface: 'test',
      workspace: basename(ws.root),
      trusted: true,
      engines: { ripgrep: { available: true, version: expect.stringMatching(/^\d/) } },
      tools: expect.arrayContaining([expect.objectContaining({ slot: 'unified_search/grep', effects: ['read'] })]),
      diagnostics: expect.any(Array),
    },
  })
  expect(JSON.stringify(result)).not.toMatch(/CANARY/)
  expect(JSON.stringify(result)).not.toContain(ws.root)
})
it('shows only what is asked for', async () => {
  await using ws = await bootKernel()
  const keys = async (mode?: string) =>
    Object.keys(((await ws.call('unified_search', { action: 'agent', ...(mode && { mode }) })) as any).output)
  expect(await keys()).not.toContain('tools')
  expect(await keys('tools')).toContain('tools')
  expect(await keys('debug')).toContain('diagnostics')
})
it('is inferred from a mode of its own, and lists from a mode of theirs', async () => {
  await using ws = await bootKernel()
  expect(await ws.call('unified_search', { mode: 'diagnostics' })).toMatchObject({
    ok: true,
    output: { node: process.version },
  })
  expect(await ws.call('unified_search', { mode: 'tree' })).toMatchObject({ ok: true, output: { mode: 'tree' } })
})
