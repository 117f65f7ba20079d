import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { JsonObject, Result } from 'vtcode'
import { bootKernel, matches, tempWorkspace } from 'vtcode/test'

async function through(
  shrink: JsonObject,
  command: string,
  more: JsonObject = {},
): Promise<{ result: Result; codes: string[] }> {
  await using place = await tempWorkspace({
    'short.yaml': JSON.stringify({ name: 'short', kind: 'compactor', slots: ['unified_exec/run'], ...more, shrink }),
  })
  await using vt = await bootKernel({ manifests: [join(place.root, 'short.yaml')] })
  return {
    result: await vt.call('unified_exec', { action: 'run', command }),
    codes: vt.kernel.diagnostics().map(({ code }) => code),
  }
}

it('keeps first and last lines, covers patterns and drops members with a data compactor', async () => {
  const { result } = await through(
    {
      head_lines: 2,
      tail_lines: 1,
      redact: [{ pattern: 'key-[0-9]+', replace: '$1' }],
      drop: ['/duration_ms', '/nothing/here'],
    },
    'seq 1 9; echo key-42',
  )
  matches(result, { ok: true, output: { stdout: '1\n2\n[7 lines left out]\n$1\n', exit_code: 0 } })
  expect(result.ok && 'duration_ms' in result.output).toBe(false)
  const { result: covered } = await through({ redact: [{ pattern: 'key-[0-9]+', replace: '$1' }] }, 'echo key-42')
  matches(covered, { ok: true, output: { stdout: '$1\n' }, text: 're:[\\s\\S]*\\$1[\\s\\S]*' })
})

it('cuts a text between characters and reports the size of the removed part', async () => {
  const { result } = await through({ max_text_bytes: 101 }, 'printf "é%.0s" $(seq 1 200)')
  expect(result.ok && result.text).toMatch(/é\n\[\d+ bytes left out\]$/)
  expect(result.ok && result.text).not.toContain('\ufffd')
})

it('names a data compactor with a slow pattern or an unknown field and applies none of it', async () => {
  const { result, codes } = await through({ redact: [{ pattern: '(?=x)y' }] }, 'echo x')
  matches(result, { ok: true, output: { stdout: 'x\n' } })
  expect(result.notices?.map(({ code }) => code)).toEqual(['VT_COMPACT_IGNORED'])
  expect(codes).toContain('VT_SCHEMA_PATTERN')
  const { codes: others } = await through({ heads: 3 }, 'echo x')
  expect(others).toContain('VT_MANIFEST_INVALID')
})
