import { ok, VtError, type Context, type Handler, type Session, type Success } from '../core/index.js'
import {
  resolveAddresses,
  checkHost,
  fenceText,
  fetchPage,
  toHost,
  networkFailure,
  readUrl,
  webFailure,
  type WebSettings,
} from './lib/net/index.js'

interface Input {
  url: string
  max_bytes?: number
}
export interface DefuddleOutput {
  url: string
  markdown: string
  bytes: number
  truncated: boolean
  used_this_session: number
  session_cap: number
}

const SERVICE_URL = 'https://defuddle.md/'
const MAX_ATTEMPTS = 3

/**
 * Fetches a page as Markdown through a web service, for pages that cannot be read here. The service learns the
 * address.
 */
const defuddleFetch: Handler<Input, DefuddleOutput> = async ({ input }, context) => {
  try {
    return await fetchMarkdown(input, context)
  } catch (error) {
    throw withNext(error, input.url)
  }
}
export default defuddleFetch

async function fetchMarkdown(
  input: Input,
  { session, settings: blocks, signal }: Context,
): Promise<Success<DefuddleOutput>> {
  const settings = blocks.web
  const { enabled, max_bytes, max_calls_per_session, base_url = SERVICE_URL } = settings.defuddle
  const url = readUrl(input.url)
  await refusePrivateHost(url, settings)
  if (!enabled) throw webFailure('VT_WEB_BLOCKED', 'The settings switch defuddle_fetch off.')
  const cap = Math.min(1, max_calls_per_session)
  const visit = beginVisit(session, cap)
  const limits = { max_bytes: Math.min(input.max_bytes ?? max_bytes, max_bytes), timeout_secs: 30, max_redirects: 0 }
  try {
    const page = await fetchPage(
      {
        url: base_url.replace(/\/?$/, '/') + url.href,
        headers: { accept: 'text/markdown, text/plain' },
        ...limits,
        follow: () => false,
        onAnswer: visit.answered,
      },
      settings,
      signal,
    )
    if (page.location)
      throw webFailure(
        'VT_WEB_HTTP',
        `${page.url.host} answers ${page.status} with a redirect, which is not followed.`,
        {
          details: { status: page.status },
        },
      )
    const { text: markdown, bytes, truncated } = page
    const note = truncated ? ' The page is longer; this tool returns no more of it.' : ''
    return ok(
      { url: url.href, markdown, bytes, truncated, used_this_session: 1, session_cap: cap },
      { text: `${url.href} as read by ${page.url.host}.${note}\n${fenceText(url.href, markdown)}` },
    )
  } finally {
    visit.end()
  }
}

/** Refuses private hosts, also those exempted in the settings: the service must not learn their names. */
async function refusePrivateHost(url: URL, settings: WebSettings): Promise<void> {
  const strict: WebSettings = { ...settings, private_hosts: [] }
  checkHost(url, strict)
  await resolveAddresses(toHost(url), strict).catch((error: unknown) => {
    throw networkFailure(error, toHost(url))
  })
}

// After these errors the page may still be reachable from here.
const FALLBACK_CODES = ['VT_WEB_CAP', 'VT_WEB_HTTP', 'VT_WEB_NETWORK', 'VT_WEB_TIMEOUT']

function withNext(error: unknown, url: string): unknown {
  if (!(error instanceof VtError) || !FALLBACK_CODES.includes(error.code)) return error
  return new VtError({ ...error.problem, next: { tool: 'unified_search', input: { action: 'web', url } } })
}

interface Visits {
  used: number
  failed: number
}

/** Counts the one visit of the session before the request; returns an unanswered visit, a few times. */
function beginVisit(session: Session, cap: number): { answered(): void; end(): void } {
  const visits = session.state<Visits>('defuddle_fetch', () => ({ used: 0, failed: 0 }))
  if (visits.used >= cap)
    throw webFailure('VT_WEB_CAP', `defuddle_fetch allows ${cap} call per session, which is used up.`)
  if (visits.failed >= MAX_ATTEMPTS)
    throw webFailure(
      'VT_WEB_CAP',
      `The service was not reached ${MAX_ATTEMPTS} times in this session; do not try again.`,
    )
  visits.used++
  let answered = false
  return {
    answered: () => void (answered = true),
    end() {
      if (answered) return
      visits.used--
      visits.failed++
    },
  }
}
