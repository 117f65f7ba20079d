import {
  ok,
  problem,
  type Call,
  type Context,
  type Handler,
  type JsonObject,
  type Next,
  type Result,
  type Success,
} from '../../core/index.js'
import { fenceText, fetchPage, takeCodePoints, toHost, type FetchedPage } from '../lib/net/index.js'
import { writeSpool } from '../lib/state/index.js'
import { findPassages } from './web/passages.js'
import { readHtmlPage } from './web/reader.js'
import type { PageReading } from './web/page_reading.js'

interface Input {
  url?: string
  query?: string
  prompt?: string
  max_bytes?: number
  timeout_secs?: number
}
export interface WebOutput {
  url: string
  final_url: string
  status: number
  content_type: string
  title?: string
  content: string
  bytes: number
  truncated: boolean
  passages?: string[]
  spool_path?: string
  backend: 'fetch'
  redirects: string[]
  links: { text: string; url: string }[]
  /** False when a page was too heavy to read and `content` is its bare text. */
  structured: boolean
  next?: Next
}

/** Characters of a page in the answer, without and with passages for a prompt; the whole page is in a spool file. */
const MAX_SHOWN_CHARS = 40_000
const MAX_SHOWN_WITH_PASSAGES_CHARS = 8_000
// Minimum time to convert a page after a late answer.
const MIN_READING_MS = 5000

/** Fetches one page as text for a model. */
const web: Handler<Input, WebOutput> = async (call, context) => {
  const { input } = call
  if (input.url === undefined) {
    throw problem(
      'VT_INPUT_MISSING',
      { fields: "'url'" },
      { next: { tool: 'web_search', input: { query: input.query ?? '' } } },
    )
  }
  const settings = context.settings.web
  const seconds = input.timeout_secs ?? settings.fetch.timeout_secs
  const ends = Date.now() + seconds * 1000
  const page = await fetchPage(
    {
      url: input.url,
      max_bytes: input.max_bytes ?? settings.fetch.max_bytes,
      timeout_secs: seconds,
      max_redirects: settings.fetch.max_redirects,
      follow: isSameSite,
    },
    settings,
    context.signal,
  )
  if (page.location) return fetchOtherSite(call, context, page, ends)
  const left = Math.max(MIN_READING_MS, ends - Date.now())
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)$/.test(page.content_type)
  const reading = isHtml
    ? await readHtmlPage(page.text, page.url.href, left, context.signal)
    : { markdown: page.text, links: [], structured: true }
  return renderAnswer(await toOutput(input.url, page, reading, input.prompt, context))
}
export default web

/** Returns whether two addresses have the same host, apart from `www.`. */
const isSameSite = (to: URL, from: URL): boolean => toPlainHost(to) === toPlainHost(from)
const toPlainHost = (url: URL): string => toHost(url).replace(/^www\./, '')

/** Follows a redirect to another site by a new call, because rules and approvals apply to the requested host. */
async function fetchOtherSite(
  { slot, given }: Call<Input>,
  context: Context,
  { url, location, redirects }: FetchedPage,
  ends: number,
): Promise<Result<WebOutput>> {
  const [tool, action] = slot.split('/') as [string, string]
  const timeout_secs = Math.max(1, Math.ceil((ends - Date.now()) / 1000))
  const before = [...redirects, url.href]
  const result = await context.call(tool, {
    ...given,
    action,
    url: location!.href,
    timeout_secs,
    response_format: 'detailed',
  })
  if (!result.ok) return { ...result, error: rebaseError(result.error, before) }
  const output = result.output as unknown as WebOutput
  return renderAnswer({ ...output, url: String(given['url']), redirects: [...before, ...output.redirects] })
}

function rebaseError<Failed extends { code: string; message: string; details?: JsonObject }>(
  error: Failed,
  before: string[],
): Failed {
  if (error.code === 'VT_CALL_DEPTH')
    return {
      ...error,
      code: 'VT_WEB_REDIRECTS',
      message: `${before[0]!.slice(0, 120)} redirects from host to host too often.`,
      hint: 'Give the address at the end of the redirects.',
    }
  const hop = error.details?.['hop']
  return typeof hop === 'number' ? { ...error, details: { ...error.details, hop: hop + before.length } } : error
}

async function toOutput(
  url: string,
  page: FetchedPage,
  { title, markdown, links, structured }: PageReading,
  prompt: string | undefined,
  context: Context,
): Promise<WebOutput> {
  const passages = prompt === undefined ? undefined : findPassages(prompt, markdown)
  const content = takeCodePoints(markdown, passages ? MAX_SHOWN_WITH_PASSAGES_CHARS : MAX_SHOWN_CHARS)
  const cut = content.length < markdown.length
  const spool_path = cut ? await writeSpool(context, 'web', markdown, 'md') : undefined
  return {
    url,
    final_url: page.url.href,
    status: page.status,
    content_type: page.content_type,
    ...(title && { title }),
    content,
    bytes: page.bytes,
    truncated: page.truncated || cut,
    ...(passages && { passages }),
    ...(spool_path !== undefined && { spool_path }),
    backend: 'fetch',
    redirects: page.redirects,
    links,
    structured,
    ...(spool_path !== undefined && { next: createReadCall(spool_path, content) }),
  }
}

const createReadCall = (path: string, content: string): Next => ({
  tool: 'unified_file',
  input: { action: 'read', path, offset_bytes: Buffer.byteLength(content), page_size_bytes: 65_536 },
})

const BARE_NOTICE = 'The page is too large or too broken to read with its structure; this is its plain text.'

function renderAnswer(output: WebOutput): Success<WebOutput> {
  const { final_url, status, content_type, title, passages = [], content, truncated, spool_path, structured } = output
  // Text of this program is outside of the fence, text of the page inside.
  const ours = [
    `${final_url} answered ${status}, ${content_type}.`,
    ...(content === ''
      ? ['The page holds no text; defuddle_fetch may return what its scripts show.']
      : structured
        ? []
        : [BARE_NOTICE]),
    ...(spool_path
      ? [`The whole page is in ${spool_path}.`]
      : truncated
        ? ['The page is longer; raise max_bytes to read more.']
        : []),
    ...(passages.length > 0
      ? [
          `The ${passages.length} passages nearest to the prompt come first, each after a line of ~~~, ` +
            'then the page from its beginning.',
        ]
      : []),
  ]
  const theirs = [
    ...(title ? [title] : []),
    ...passages.map((passage) => `~~~\n${passage}`),
    ...(passages.length > 0 ? ['~~~'] : []),
    content,
  ]
  return ok(output, { text: `${ours.join(' ')}\n${fenceText(final_url, theirs.join('\n\n'))}` })
}
