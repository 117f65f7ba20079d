import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findRoot } from '../../../build/core/config/index.js'
import { tempWorkspace } from 'vtcode/test'

it('picks the nearest folder with a mark as workspace, but neither the home nor a world-writable folder', async () => {
  await using place = await tempWorkspace({ '.vtcode/config.json': '{}', 'shared/.vtcode/config.json': '{}' })
  const [shared, mine] = [join(place.root, 'shared'), join(place.root, 'shared/mine/deep')]
  mkdirSync(mine, { recursive: true })
  const rootOf = (start: string) => findRoot(start, join(place.home, '.vtcode'))
  expect(rootOf(mine)).toBe(shared)
  // The mode of /tmp: everybody may write.
  chmodSync(shared, 0o1777)
  expect([rootOf(mine), rootOf(shared)]).toEqual([place.root, shared])
  chmodSync(place.root, 0o1777)
  expect(rootOf(mine)).toBe(mine)
  mkdirSync(join(place.root, 'shared/mine/.git'))
  expect(rootOf(mine)).toBe(join(shared, 'mine'))
  mkdirSync(join(place.home, '.vtcode'))
  mkdirSync(join(place.home, 'folder'))
  expect(rootOf(join(place.home, 'folder'))).not.toBe(place.home)
})

it.each(['vtcode.config.cjs', '.vtcoderc', '.vtcoderc.json', '.config/vtcoderc.yaml', 'package.json'])(
  'takes a folder with %s as workspace of those below it, but not the folder of the user',
  async (name) => {
    const text = '{ "vtcode": {} }'
    await using place = await tempWorkspace({ 'deep/package.json': '{ "name": "vtcode" }', [name]: text })
    const home = join(place.home, '.vtcode')
    expect(findRoot(join(place.root, 'deep'), home)).toBe(place.root)
    for (const path of [join(place.home, '.config'), join(place.home, 'folder')]) mkdirSync(path)
    writeFileSync(join(place.home, name), text)
    if (name !== 'vtcode.config.cjs') expect(findRoot(join(place.home, 'folder'), home)).not.toBe(place.home)
  },
)

it('takes no dependency with settings in its package.json as workspace', async () => {
  const text = '{ "vtcode": {} }'
  await using place = await tempWorkspace({
    'vtcode.config.yaml': '',
    'node_modules/a/package.json': text,
    'node_modules/a/lib/b.js': '',
  })
  expect(findRoot(join(place.root, 'node_modules/a/lib'), join(place.home, '.vtcode'))).toBe(place.root)
})
