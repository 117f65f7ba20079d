import { bootKernel } from 'vtcode/test'
import { expect, it } from 'vitest'
import { page, serve } from '../../../support/server.js'

it('answers read_url in the shape of the thndrs dialect', async () => {
  await using server = await serve(
    page('<title>Hi</title><article><p>Some words that are long enough to be a page.</p></article>'),
  )
  await using booted = await bootKernel({ config: { web: { private_hosts: ['127.0.0.1'] } } })
  const result: any = await booted.call('read_url', { url: server.url })
  expect(result.output).toEqual({
    url: server.url,
    final_url: `${server.url}/`,
    title: 'Hi',
    content: expect.stringContaining('Some words'),
    truncated: false,
  })
})

it.each([
  ['http://10.0.0.1/', 'VT_WEB_BLOCKED'],
  ['ftp://example.org/', 'VT_WEB_URL'],
])('refuses %s in read_url like the web action does', async (url, code) => {
  await using booted = await bootKernel()
  expect(await booted.call('read_url', { url })).toMatchObject({ error: { code } })
})

it('hides read_url from callers without the thndrs dialect', async () => {
  await using booted = await bootKernel()
  expect(booted.kernel.tools().map(({ name }) => name)).not.toContain('read_url')
})
