import { expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

it('keeps its own outlines where the fallback of a plugin answers without files', async () => {
  await using tools = await tempWorkspace({
    'zig.yaml': 'name: zig\naction: unified_search/outline\nstage: override\nmodule: ./zig.js\n',
    'zig.js':
      "export default async ({ input }) => input.lang === 'zig' ? { ok: true, output: { digest: 'main' } } : undefined\n",
  })
  await using made = await bootKernel({
    manifests: [tools.root],
    files: { 'src/a.zig': 'pub fn main() void {}\n', 'src/b.js': 'export const b = 1\n' },
  })
  const result = await made.call('unified_search', { action: 'outline', path: 'src', response_format: 'detailed' })
  expect(result).toMatchObject({ ok: true, output: { files: [{ path: 'src/b.js' }] } })
  expect(result.notices).toContainEqual({
    code: 'VT_SEARCH_PARTIAL',
    message: expect.stringContaining('answered without `files`'),
  })
})
