import { ok, VtError, type Context, type Handler, type Session, type Success } from '../core/index.js'
import {
  addressesOf,
  checkHost,
  fenced,
  fetchPage,
  hostOf,
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

const service = 'https://defuddle.md/'
const attempts = 3

/** A page as Markdown, read by a service on the net: for pages that cannot be read here. The service learns the address. */
const defuddleFetch: Handler<Input, DefuddleOutput> = async ({ input }, context) => {
  try {
    return await fetched(input, context)
  } catch (error) {
    throw withNext(error, input.url)
  }
}
export default defuddleFetch

async function fetched(input: Input, { session, settings: blocks, signal }: Context): Promise<Success<DefuddleOutput>> {
  const settings = blocks.web
  const { enabled, max_bytes, max_calls_per_session, base_url = service } = settings.defuddle
  const url = readUrl(input.url)
  await refuseInner(url, settings)
  if (!enabled) throw webFailure('VT_WEB_BLOCKED', 'The settings switch defuddle_fetch off.')
  const cap = Math.min(1, max_calls_per_session)
  const visit = begin(session, cap)
  const limits = { max_bytes: Math.min(input.max_bytes ?? max_bytes, max_bytes), timeout_secs: 30, max_redirects: 0 }
  try {
    const page = await fetchPage(
      {
        url: base_url.replace(/\/?$/, '/') + url.href,
        headers: { accept: 'text/markdown, text/plain' },
        ...limits,
        follow: () => false,
        answered: visit.answered,
      },
      settings,
      signal,
    )
    if (page.location)
      throw webFailure('VT_WEB_HTTP', `${page.url.host} answers ${page.status} and points elsewhere.`, {
        details: { status: page.status },
      })
    const { text: markdown, bytes, truncated } = page
    const note = truncated ? ' The page is longer; this tool returns no more of it.' : ''
    return ok(
      { url: url.href, markdown, bytes, truncated, used_this_session: 1, session_cap: cap },
      { text: `${url.href} as read by ${page.url.host}.${note}\n${fenced(url.href, markdown)}` },
    )
  } finally {
    visit.end()
  }
}

/** A stranger is told of public pages only: what the user exempts for fetching here is nobody else's business. */
async function refuseInner(url: URL, settings: WebSettings): Promise<void> {
  const strict: WebSettings = { ...settings, private_hosts: [] }
  checkHost(url, strict)
  await addressesOf(hostOf(url), strict).catch((error: unknown) => {
    throw networkFailure(error, hostOf(url))
  })
}

// Where the service does not help, the page can still be tried from here.
const helped = ['VT_WEB_CAP', 'VT_WEB_HTTP', 'VT_WEB_NETWORK', 'VT_WEB_TIMEOUT']

function withNext(error: unknown, url: string): unknown {
  if (!(error instanceof VtError) || !helped.includes(error.code)) return error
  return new VtError({ ...error.problem, next: { tool: 'unified_search', input: { action: 'web', url } } })
}

interface Visits {
  used: number
  failed: number
}

/** Takes the one visit of the session before anything is sent; one that nobody answered is given back, a few times. */
function begin(session: Session, cap: number): { answered(): void; end(): void } {
  const visits = session.state<Visits>('defuddle_fetch', () => ({ used: 0, failed: 0 }))
  if (visits.used >= cap)
    throw webFailure('VT_WEB_CAP', `defuddle_fetch is for ${cap} call a session, and that is used up.`)
  if (visits.failed >= attempts)
    throw webFailure(
      'VT_WEB_CAP',
      `The service was not reached ${attempts} times in this session; it is not tried again.`,
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
