import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('applies a tool policy with 10,000 names and ignores the unknown ones', async () => {
  const constraints = Object.fromEntries([
    ...Array.from({ length: 10_000 }, (_, at) => [`t${at}`, {}]),
    ['list_files', { max_items_per_call: 5 }],
  ])
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}.txt`, '']))
  await using booted = await bootKernel({
    files: { ...files, '.vtcode/tool-policy.json': JSON.stringify({ constraints }) },
  })
  expect(await booted.call('list_files', { path: '.' })).toMatchObject({
    ok: true,
    output: { total: 30, has_more: true },
  })
  expect(await booted.call('unified_search', { action: 'grep', pattern: 'x' })).toMatchObject({ ok: true })
  const endless = JSON.stringify({
    constraints: Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`tool_${at}`, { max_items_per_call: 1 }]),
    ),
  })
  await expect(bootKernel({ files: { '.vtcode/tool-policy.json': endless } })).rejects.toMatchObject({
    code: 'VT_CONFIG_INVALID',
    message: expect.stringContaining('larger than 256 KiB'),
  })
})

it('calls a name of one dialect in every dialect, with errors in its own words', async () => {
  for (const dialects of [['unified'], ['classic'], ['thndrs']]) {
    await using booted = await bootKernel({ dialects, mode: 'auto', files: { 'a.txt': 'old\n' } })
    const refused: any = await booted.call('replace_range', { path: 'a.txt', old_string: 'nowhere', new_string: 'x' })
    expect(refused.ok, dialects[0]).toBe(false)
    expect(JSON.stringify([refused.error.hint, refused.error.next ?? {}]), dialects[0]).not.toMatch(
      /unified_|apply_patch|edit_file/,
    )
    expect(await booted.call('search_text', { pattern: 'old' }), dialects[0]).toMatchObject({ ok: true })
    expect(await booted.call('nobody_knows_this', {}), dialects[0]).toMatchObject({
      ok: false,
      error: { code: 'VT_TOOL_UNKNOWN' },
    })
  }
})
