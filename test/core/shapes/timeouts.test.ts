import { expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

/** Returns the time limits that a plugin receives. */
async function readTimeouts(timeouts?: object): Promise<unknown> {
  await using plugins = await tempWorkspace({
    'timeouts.yaml':
      'name: timeouts\ndescription: Returns the time limits.\neffects: [read]\ninput: {}\nmodule: ./timeouts.js\n',
    'timeouts.js': 'export default (call, { host }) => ({ ok: true, output: host.timeouts })\n',
  })
  await using booted = await bootKernel({ manifests: [plugins.root], ...(timeouts && { timeouts }) })
  const result = await booted.call('timeouts', {})
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
  expect(await readTimeouts()).toEqual(shipped)
})

it('shortens one time limit for a kernel and keeps the others', async () => {
  expect(await readTimeouts({ policy: 100 })).toEqual({ ...shipped, policy: 100 })
})
