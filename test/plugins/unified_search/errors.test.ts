import { bootKernel, type Booted } from 'vtcode/test'
import { expect, it } from 'vitest'

const errors = async ({ kernel }: Booted, input: object, session?: string): Promise<any> => {
  const result = await kernel.call('unified_search', { action: 'errors', ...input }, session ? { session } : {})
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.output
}

it('shows failed calls newest first and groups identical ones in a row', async () => {
  await using ws = await bootKernel({ files: { 'a.txt': 'x' } })
  for (const path of ['gone.txt', 'gone.txt', 'a.txt', 'lost.txt'])
    await ws.call('unified_file', { action: 'read', path })
  const found = await errors(ws, { scope: 'current' })
  expect(found).toMatchObject({
    total: 2,
    truncated: false,
    errors: [
      { input: { path: 'lost.txt' }, count: 1 },
      { code: 'VT_PATH_NOT_FOUND', input: { path: 'gone.txt' } },
    ],
  })
  expect(found.errors.reduce((sum: number, error: any) => sum + error.count, 0)).toBe(3)
})
it('separates sessions and shows earlier ones as an archive', async () => {
  await using ws = await bootKernel()
  await ws.kernel.call('unified_file', { action: 'read', path: 'one.txt' }, { session: 'first' })
  await ws.kernel.endSession('first')
  await ws.kernel.call('unified_file', { action: 'read', path: 'two.txt' }, { session: 'second' })
  expect((await errors(ws, { scope: 'current' }, 'second')).errors).toMatchObject([{ input: { path: 'two.txt' } }])
  expect(await errors(ws, { scope: 'archive' }, 'second')).toMatchObject({
    archive_available: true,
    errors: [{ session: 'first', input: { path: 'one.txt' } }],
  })
  expect((await errors(ws, {}, 'second')).total).toBe(2)
})
