import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { doJobs } from '../../lib/base/index.js'
import { markupText } from '../../lib/net/index.js'
import type { PageReading } from './reading.js'

export interface PageJob {
  html: string
  url: string
}

const mostLinks = 200

// Nothing is collected by hand between two pages: no document lives then, V8 forgets the shapes of its nodes, and what it compiled for them is lost.
doJobs<PageJob, PageReading>(({ html, url }) => read(html, url))

async function read(html: string, url: string): Promise<PageReading> {
  const { document } = parseHTML(html)
  // Some of its extractors would ask other servers for more; nothing but the fetcher goes out.
  const page = await Defuddle(document as never, url, {
    separateMarkdown: true,
    useAsync: false,
    fetch: () => Promise.reject(new Error('no network')),
  })
  return {
    ...(page.title && { title: page.title }),
    markdown: page.contentMarkdown ?? '',
    links: linksIn(page.content, url),
    structured: true,
  }
}

/** The links of the content, each target once, in order. */
function linksIn(html: string, base: string): PageReading['links'] {
  const links = new Map<string, string>()
  for (const [, href, inner] of html.matchAll(/<a\b[^>]*?\shref="([^"]{1,2048})"[^>]*>([\s\S]*?)<\/a>/g)) {
    const target = markupText(href!)
    if (!URL.canParse(target, base) || links.size >= mostLinks) continue
    const { protocol, href: url } = new URL(target, base)
    if (/^https?:$/.test(protocol) && !links.has(url)) links.set(url, markupText(inner!).slice(0, 200))
  }
  return [...links].map(([url, text]) => ({ text, url }))
}
