import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { doJobs } from '../../lib/base/index.js'
import { stripMarkup } from '../../lib/net/index.js'
import type { PageReading } from './page_reading.js'

export interface PageJob {
  html: string
  url: string
}

const MAX_LINKS = 200

// No explicit garbage collection between pages: V8 would drop the code compiled for the nodes of a document.
doJobs<PageJob, PageReading>(({ html, url }) => extractPage(html, url))

async function extractPage(html: string, url: string): Promise<PageReading> {
  const { document } = parseHTML(html)
  // Some extractors would send requests to other servers; only the fetcher may.
  const page = await Defuddle(document as never, url, {
    separateMarkdown: true,
    useAsync: false,
    fetch: () => Promise.reject(new Error('no network')),
  })
  return {
    ...(page.title && { title: page.title }),
    markdown: page.contentMarkdown ?? '',
    links: findLinks(page.content, url),
    structured: true,
  }
}

/** Finds the links of the content, each target once, in order. */
function findLinks(html: string, base: string): PageReading['links'] {
  const links = new Map<string, string>()
  for (const [, href, inner] of html.matchAll(/<a\b[^>]*?\shref="([^"]{1,2048})"[^>]*>([\s\S]*?)<\/a>/g)) {
    const target = stripMarkup(href!)
    if (!URL.canParse(target, base) || links.size >= MAX_LINKS) continue
    const { protocol, href: url } = new URL(target, base)
    if (/^https?:$/.test(protocol) && !links.has(url)) links.set(url, stripMarkup(inner!).slice(0, 200))
  }
  return [...links].map(([url, text]) => ({ text, url }))
}
