import { expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

it('returns at most 100 suggestions, texts only, and none from a module that throws', async () => {
  await using offers = await tempWorkspace({
    'page.yaml':
      'name: page\nkind: resource\ndescription: A page by its name.\ntemplate: pages://here/{name}\nmodule: ./page.js\n',
    'page.js': `export default () => ({ ok: true, output: {} })
      export const complete = (argument, value) => {
        if (value === 'wrong') throw new Error('on purpose')
        if (value === 'mixed') return ['a', 1, null, 'b']
        return Array.from({ length: Number(value) }, (_, index) => argument + index)
      }
    `,
  })
  await using booted = await bootKernel({ manifests: [offers.root] })
  const complete = (value: string) => booted.kernel.inspection.complete('resource/page', 'name', value)
  expect((await complete('2')).length).toBe(2)
  expect((await complete('100')).at(-1)).toBe('name99')
  const long = await complete('101')
  expect([long.length, long.at(-1)]).toEqual([100, 'name99'])
  expect([await complete('mixed'), await complete('wrong')]).toEqual([['a', 'b'], []])
})
