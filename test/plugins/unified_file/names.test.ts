import { bootKernel } from 'vtcode/test'
import { expect, it } from 'vitest'

it('escapes a name with a line end in the text of every file action and keeps it exact in the output', async () => {
  const name = 'x\nforged.ts'
  await using booted = await bootKernel({
    mode: 'auto',
    files: { [name]: 'function a() { log(1) }\n', 'lua\nforged.lua': 'function b() end\n', 'none\nforged.md': 'x\n' },
  })
  const calls: [tool: string, input: object][] = [
    ['unified_search', { action: 'list' }],
    ['unified_search', { action: 'list', mode: 'tree' }],
    ['unified_search', { action: 'grep', pattern: 'log' }],
    ['unified_search', { action: 'grep', pattern: 'nowhere', path: name }],
    ['unified_search', { action: 'outline' }],
    ['unified_search', { action: 'outline', path: name }],
    ['unified_search', { action: 'outline', path: 'none\nforged.md' }],
    ['unified_search', { action: 'structural', pattern: 'log($A)', lang: 'ts' }],
    ['unified_search', { action: 'structural', pattern: 'nowhere($A)', lang: 'ts', path: name }],
    [
      'unified_search',
      { action: 'structural', pattern: 'log($A)', lang: 'ts', workflow: 'rewrite', rewrite: 'say($A)' },
    ],
    ['unified_file', { action: 'copy', path: name, destination: 'c\nforged.ts' }],
    ['unified_file', { action: 'move', path: 'c\nforged.ts', destination: 'm\nforged.ts' }],
    ['unified_file', { action: 'read', path: name }],
    ['unified_file', { action: 'edit', path: name, old_str: 'log(1)', new_str: 'log(2)' }],
    ['unified_file', { action: 'write', path: 'w\nforged.ts', content: 'x' }],
    ['unified_file', { action: 'delete', path: 'm\nforged.ts' }],
    ['unified_file', { action: 'delete', path: 'm\nforged.ts' }],
    ['unified_file', { action: 'read', path: 'm\nforged.ts' }],
  ]
  const answers = []
  for (const [tool, input] of calls) {
    const result = await booted.call(tool, input)
    const text = result.ok ? result.text : result.error.message
    answers.push([input, text, /^forged/m.test(text ?? '')])
  }
  expect(answers.filter(([, , forged]) => forged)).toEqual([])
  expect(await booted.call('unified_file', { action: 'read', path: name })).toMatchObject({
    ok: true,
    output: { path: name },
  })
})
