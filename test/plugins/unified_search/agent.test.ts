import { basename } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { expect, it } from 'vitest'

it('shows versions, engines and counts in the action agent, without secrets and machine paths', async () => {
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
it('shows only the requested parts in the action agent', async () => {
  await using ws = await bootKernel()
  const keys = async (mode?: string) =>
    Object.keys(((await ws.call('unified_search', { action: 'agent', ...(mode && { mode }) })) as any).output)
  expect(await keys()).not.toContain('tools')
  expect(await keys('tools')).toContain('tools')
  expect(await keys('debug')).toContain('diagnostics')
})
it('infers the action agent from its own modes and the action list from those of list', async () => {
  await using ws = await bootKernel()
  expect(await ws.call('unified_search', { mode: 'diagnostics' })).toMatchObject({
    ok: true,
    output: { node: process.version },
  })
  expect(await ws.call('unified_search', { mode: 'tree' })).toMatchObject({ ok: true, output: { mode: 'tree' } })
})
