import { problem, type Handler } from '../../core/index.js'
import { fetchPage, webFailure } from '../lib/net/index.js'
import { searchWeb, type WebEngine, type WebResult, type WebQuery, type SearchOutput } from './engine.js'

interface Options {
  base_url?: string
  headers?: Record<string, string>
}

/**
 * Searches through the JSON interface of the user's SearXNG server (`search.formats` of the server must have `json`).
 * Declines unless `web.search.provider` is `searxng`.
 */
const searxng: Handler<WebQuery, SearchOutput> = (call, context) => {
  if (context.settings.web.search.provider !== 'searxng') return undefined
  const { base_url, headers = {} } = context.plugin.options as Options
  if (!base_url)
    throw problem('VT_CONFIG_INVALID', {
      problem: "web.search.provider is 'searxng', but plugins.settings.builtin:searxng.options.base_url is not set.",
    })
  const engine: WebEngine = {
    name: 'searxng',
    async find(query, progress) {
      const url = new URL('search', base_url.endsWith('/') ? base_url : `${base_url}/`)
      url.search = new URLSearchParams({ q: query, format: 'json' }).toString()
      const { text } = await fetchPage(
        {
          url: url.href,
          headers,
          max_bytes: 2_000_000,
          timeout_secs: 15,
          max_redirects: 3,
          onAnswer: progress.answered,
        },
        context.settings.web,
        context.signal,
      )
      return readResults(text)
    },
  }
  return searchWeb(engine, call, context)
}
export default searxng

function readResults(text: string): WebResult[] {
  let results: unknown
  try {
    results = (JSON.parse(text) as { results?: unknown }).results
  } catch {
    results = undefined
  }
  if (!Array.isArray(results)) throw webFailure('VT_WEB_PARSE', 'The answer of searxng is not a JSON list of results.')
  const toText = (value: unknown): string => (typeof value === 'string' ? value : '')
  return (results as Record<string, unknown>[]).map((result) => ({
    title: toText(result?.['title']),
    url: toText(result?.['url']),
    snippet: toText(result?.['content']),
  }))
}
