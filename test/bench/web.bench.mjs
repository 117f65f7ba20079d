import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { peakBytes } from '../support/peak.mjs'

/** An article of 200 KB, fetched from loopback and made Markdown: by a thread that has just started, and by one that has read before. */
export default async () => {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  const html = article(200_000)
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
  )
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const config = {
    web: { private_hosts: ['127.0.0.1'] },
    automation: { full_auto: { enabled: true, allowed_tools: ['net'] } },
  }
  const kernel = await createKernel({ workspace: root, home: join(root, 'home'), env: {}, mode: 'full-auto', config })
  const read = async () => {
    const began = process.hrtime.bigint()
    const result = await kernel.call('unified_search', {
      action: 'web',
      url: `http://127.0.0.1:${server.address().port}/`,
    })
    if (!result.ok) throw new Error(result.error.message)
    return Number(process.hrtime.bigint() - began) / 1e6
  }
  try {
    const before = process.memoryUsage().rss
    const first = await read()
    const grownBy = () => (peakBytes() - before) / 1e6
    const grown = grownBy()
    const again = []
    for (let i = 0; i < 25; i++) again.push(await read())
    return [
      {
        name: 'article of 200 KB, fetch and extract, again',
        goal: 250,
        ratio: median(again.slice(5)),
        unit: 'ms',
        detail: 'median of 20 after 5 to warm up',
      },
      {
        name: 'article of 200 KB, fetch and extract, first',
        goal: 1500,
        ratio: first,
        unit: 'ms',
        detail: 'loads the reader, its thread and the network library',
      },
      {
        name: 'article of 200 KB, memory',
        goal: 100,
        ratio: grown,
        unit: 'MB',
        detail: `peak of the process over what it had before, libraries included; after 25 more ${Math.round(grownBy())} MB, until the thread ends`,
      },
    ]
  } finally {
    server.close()
    server.closeAllConnections()
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** Text, headings, code, tables and what surrounds an article, in about `size` bytes. */
function article(size) {
  const words =
    'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua'.split(
      ' ',
    )
  let seed = 1
  const sentence = () =>
    `${Array.from({ length: 12 }, () => words[(seed = (seed * 16807) % 2147483647) % words.length]).join(' ')}. `
  const parts = [
    `<html><head><title>Bench</title><style>${'.a{color:red}\n'.repeat(500)}</style></head><body><nav>${'<a href="/n">nav</a>'.repeat(60)}</nav><article><h1>Bench</h1>`,
  ]
  let length = parts[0].length
  for (let n = 1; length < size; n++) {
    const heading = n % 8 === 0 ? `<h2>${sentence().slice(0, 30)}</h2>` : ''
    const code = n % 20 === 0 ? '<pre><code class="language-ts">const a = 1\nconst b = 2</code></pre>' : ''
    const table = n % 40 === 0 ? '<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d</td></tr></table>' : ''
    const part = `${heading}<p>${Array.from({ length: 6 }, sentence).join('')}<a href="/${n}">link</a></p>${code}${table}`
    length += part.length
    parts.push(part)
  }
  return `${parts.join('')}</article></body></html>`
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]
