import { expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

/** Returns the time limits that a plugin receives. */
async function told(waits?: object): Promise<unknown> {
  await using plugins = await tempWorkspace({
    'waits.yaml': 'name: waits\ndescription: Says them.\neffects: [read]\ninput: {}\nmodule: ./waits.js\n',
    'waits.js': 'export default (call, { host }) => ({ ok: true, output: host.waits })\n',
  })
  await using booted = await bootKernel({ manifests: [plugins.root], ...(waits && { waits }) })
  const result = await booted.call('waits', {})
  return result.ok && result.output
}

const shipped = {
  settings: 10_000,
  policy: 5_000,
  compactor: 2_000,
  engine: 30_000,
  single_file: 7_000,
  parse: 20_000,
  restart: 1_000,
  reading: 500,
  commit: 30_000,
  unread: 10_000,
}

it('uses the shipped time limits by default', async () => {
  expect(await told()).toEqual(shipped)
})

it('shortens one time limit for a kernel and keeps the others', async () => {
  expect(await told({ policy: 100 })).toEqual({ ...shipped, policy: 100 })
})
