import { ok, VtError, type Call, type Context, type Session, type Success } from '../../core/index.js'
import { fenceText, toShortLine, webFailure, type WebSettings } from '../lib/net/index.js'

export interface WebQuery {
  query: string
  max_results?: number
}
export interface WebResult {
  title: string
  url: string
  snippet: string
}
/**
 * A search engine. Calls `progress.answered` when the server answers; throws VT_WEB_* otherwise. An empty list means no
 * results.
 */
export interface WebEngine {
  name: string
  find(query: string, progress: { answered(): void }): Promise<WebResult[]>
}
export interface SearchOutput {
  query: string
  provider: string
  count: number
  results: WebResult[]
  cached: boolean
  requests_left: number
}

const FRESH_MS = 300_000

/** Requests and results of one session. */
interface Ledger {
  sent: number
  last: number
  readonly known: Map<string, { at: number; results: WebResult[] }>
}
const getLedger = (session: Session): Ledger =>
  session.state('search/engines', () => ({ sent: 0, last: -Infinity, known: new Map() }))

/**
 * Searches by an engine within the limits of the session. Throws VT_WEB_CAP, VT_WEB_COOLDOWN and the errors of the
 * engine.
 */
export async function searchWeb(
  engine: WebEngine,
  { input }: Call<WebQuery>,
  { session, settings }: Context,
): Promise<Success<SearchOutput>> {
  const { search: limits } = settings.web
  const ledger = getLedger(session)
  const query = input.query.trim()
  const most = input.max_results ?? limits.max_results
  const countLeft = (): number => Math.max(0, limits.max_calls_per_session - ledger.sent)
  const answer = (results: WebResult[], cached: boolean) =>
    renderResults({ query, provider: engine.name, count: results.length, results, cached, requests_left: countLeft() })

  const key = JSON.stringify([engine.name, query.toLowerCase().replace(/\s+/g, ' '), most])
  const known = ledger.known.get(key)
  if (known && Date.now() - known.at < FRESH_MS) return answer(known.results, true)
  const giveBack = takeRequest(ledger, limits)
  let answered = false
  try {
    const found = await engine.find(query, { answered: () => (answered = true) })
    const results = removeDuplicates(found).slice(0, most)
    ledger.known.set(key, { at: Date.now(), results })
    return answer(results, false)
  } catch (error) {
    if (!answered) giveBack()
    throw error instanceof VtError && error.code === 'VT_WEB_HTTP' ? toRefusal(engine, error) : error
  }
}

/**
 * Counts a request before it is sent, so that parallel calls cannot exceed the cap. Returns a function that takes it
 * back.
 */
function takeRequest(ledger: Ledger, { max_calls_per_session, min_interval_secs }: WebSettings['search']): () => void {
  if (ledger.sent >= max_calls_per_session) {
    throw webFailure('VT_WEB_CAP', `This session has made its ${max_calls_per_session} searches.`)
  }
  const wait = ledger.last + min_interval_secs * 1000 - Date.now()
  if (wait > 0) {
    throw webFailure('VT_WEB_COOLDOWN', `The last search was less than ${min_interval_secs} s ago.`, {
      hint: `Wait ${Math.ceil(wait / 100) / 10} s and search again.`,
      retryable: true,
      details: { retry_after_ms: Math.ceil(wait) },
    })
  }
  ledger.sent++
  ledger.last = Date.now()
  return () => void ledger.sent--
}

/** Converts the statuses by which engines refuse robots to VT_WEB_REFUSED. */
function toRefusal(engine: WebEngine, error: VtError): VtError {
  const status = Number(error.problem.details?.['status'])
  return [403, 418, 429].includes(status)
    ? webFailure('VT_WEB_REFUSED', `${engine.name} answers ${status}: it treats this program as a robot.`, {
        details: { status },
      })
    : error
}

/** Returns web pages, each once, with texts shortened for a list. */
function removeDuplicates(found: WebResult[]): WebResult[] {
  const seen = new Set<string>()
  return found.flatMap(({ title, url, snippet }) => {
    const parsed = URL.canParse(url) ? new URL(url) : undefined
    if (!parsed || !/^https?:$/.test(parsed.protocol) || seen.has(toResultKey(parsed))) return []
    seen.add(toResultKey(parsed))
    return [{ title: toShortLine(title, 200), url: parsed.href, snippet: toShortLine(snippet, 400) }]
  })
}

const toResultKey = ({ hostname, port, pathname, search }: URL): string => {
  const parameters = [...new URLSearchParams(search)].filter(([name]) => !/^(utm_\w+|gclid|fbclid)$/.test(name)).sort()
  return JSON.stringify([hostname.replace(/^www\./, ''), port, pathname.replace(/\/$/, ''), parameters])
}

function renderResults(output: SearchOutput): Success<SearchOutput> {
  const { query, provider, results, cached, requests_left } = output
  const facts =
    `${provider}: ${results.length} results${cached ? ', cached' : ''}; ` +
    `${requests_left} searches left in this session.`
  if (results.length === 0)
    return ok(output, {
      text: `${provider} has no results for ${JSON.stringify(query)}; ${requests_left} searches left in this session.`,
    })
  const list = results.map(({ title, url, snippet }, index) =>
    [`${index + 1}. ${title}`, `   ${url}`, ...(snippet ? [`   ${snippet}`] : [])].join('\n'),
  )
  return ok(output, { text: `${facts}\n${fenceText(`results of ${provider}`, list.join('\n'))}` })
}
