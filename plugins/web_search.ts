import type { Handler } from '../core/index.js'
import { decodeEntities, fetchPage, stripMarkup, webFailure } from './lib/net/index.js'
import { searchWeb, type WebEngine, type WebResult, type WebQuery, type SearchOutput } from './web_search/engine.js'

const HOME_URL = 'https://html.duckduckgo.com/html/'

/**
 * Searches DuckDuckGo through its form for browsers without scripts: no key, no account. Declines when the settings
 * name another provider.
 */
const webSearch: Handler<WebQuery, SearchOutput> = (call, context) => {
  const settings = context.settings.web
  if (settings.search.provider !== 'duckduckgo') return undefined
  const endpoint = String(context.plugin.options['endpoint'] ?? HOME_URL)
  const engine: WebEngine = {
    name: 'duckduckgo',
    async find(query, progress) {
      const page = await fetchPage(
        {
          url: endpoint,
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', referer: endpoint },
          body: new URLSearchParams({ q: query, b: '', kl: '' }).toString(),
          max_bytes: 1_000_000,
          timeout_secs: 15,
          max_redirects: 3,
          onAnswer: progress.answered,
        },
        settings,
        context.signal,
      )
      const results = readResults(page.text)
      if (results) return results
      if (page.status === 202 || isChallenge(page.text))
        throw webFailure('VT_WEB_REFUSED', 'duckduckgo returned a robot check instead of results.', {
          details: { status: page.status },
        })
      throw webFailure(
        'VT_WEB_PARSE',
        'The answer of duckduckgo holds neither results nor a notice that there are none.',
      )
    },
  }
  return searchWeb(engine, call, context)
}
export default webSearch

const isChallenge = (html: string): boolean =>
  /class="[^"]*\banomaly-modal|id="challenge-form"|\/anomaly\.js\b/.test(html)

/**
 * Reads the results of a page without advertisements; `undefined` for a page without results and without a no-results
 * notice.
 */
function readResults(html: string): WebResult[] | undefined {
  const [, ...blocks] = html.split(/<div\b[^>]{0,80}\bclass="(?=(?:[^"]*\s)?result(?:\s|"))/)
  const read = blocks.map(readBlock)
  if (read.some((block) => block !== undefined)) return read.flatMap((block) => block ?? [])
  return /class="[^"]*\bno-results\b|class="[^"]*\bresult--no-result\b/.test(html) ? [] : undefined
}

/** Reads the result of a block; an empty list for an advertisement, `undefined` for another block. */
function readBlock(block: string): WebResult[] | undefined {
  const classes = block.slice(0, block.indexOf('"'))
  const link = /<a\b([^>]{0,4000}\bresult__a\b[^>]{0,4000})>([\s\S]{0,4000}?)<\/a>/.exec(block)
  const href = link && /\bhref="([^"]*)"/.exec(link[1]!)?.[1]
  if (!link || href === undefined || href === null) return undefined
  const url = resolveTarget(decodeEntities(href))
  if (/\bresult--ad\b/.test(classes) || url === undefined) return []
  const snippet =
    /\bclass="[^"]*\bresult__snippet\b[^"]*"[^>]{0,4000}>([\s\S]{0,8000}?)<\/(?:a|div)>/.exec(block)?.[1] ?? ''
  return [{ title: stripMarkup(link[2]!), url, snippet: stripMarkup(snippet) }]
}

/** Returns the target of a link of the engine; `undefined` for an advertisement. */
function resolveTarget(href: string): string | undefined {
  if (!URL.canParse(href, HOME_URL)) return undefined
  const url = new URL(href, HOME_URL)
  if (!/(?:^|\.)duckduckgo\.com$/.test(url.hostname)) return url.href
  if (url.pathname === '/y.js') return undefined
  return url.pathname === '/l/' ? (url.searchParams.get('uddg') ?? undefined) : url.href
}
