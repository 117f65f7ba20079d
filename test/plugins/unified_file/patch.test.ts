import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { describe, expect, it } from 'vitest'

const two = '*** Begin Patch\n*** Update File: a.txt\n-a\n+A\n*** Add File: n/b.txt\n+b\n*** End Patch'

describe('unified_file/patch', () => {
  it('applies patches like apply_patch, under the field names that models use', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'a\n' } })
    const diff = expect.stringMatching(/^--- a\/a\.txt\n/)
    const preview = { ok: true, text: expect.stringMatching(/^M a\.txt \(\+1 -1\)\nA n\/b\.txt\n--- a\/a\.txt\n/) }
    expect(await booted.call('unified_file', { action: 'patch', patch: two, dry_run: true })).toMatchObject(preview)
    // The text has one line a file, because the caller knows the patch; the output holds the diff.
    expect(await booted.call('unified_file', { input: two })).toMatchObject({
      ok: true,
      output: { changes: [{ op: 'update' }, { op: 'add' }], diff },
      text: 'M a.txt (+1 -1)\nA n/b.txt',
    })
    expect(readFileSync(join(booted.root, 'n/b.txt'), 'utf8')).toBe('b\n')
  })

  it('refuses a patch of another file when path limits it to one', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'a\n' } })
    expect(await booted.call('unified_file', { action: 'patch', path: './a.txt', patch: two })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_CONFLICT' },
    })
    expect(existsSync(join(booted.root, 'n'))).toBe(false)
    expect(
      await booted.call('unified_file', {
        action: 'patch',
        path: './a.txt',
        patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n',
      }),
    ).toMatchObject({ ok: true })
  })
})
