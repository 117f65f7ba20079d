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
import { fenced, fetchPage, firstPoints, hostOf, type FetchedPage } from '../lib/net/index.js'
import { spool } from '../lib/state/index.js'
import { passagesFor } from './web/passages.js'
import { readable } from './web/reader.js'
import type { PageReading } from './web/reading.js'

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

/** Characters of a page that stand in the answer, alone and beside the passages that a prompt asked for; the rest goes on in a file. */
const shown = 40_000
const shownBesidePassages = 8_000
// However late the server answered, the page is still read.
const leastReadingMs = 5000

/** One page as text a model can read. */
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
      follow: sameSite,
    },
    settings,
    context.signal,
  )
  if (page.location) return elsewhere(call, context, page, ends)
  const left = Math.max(leastReadingMs, ends - Date.now())
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)$/.test(page.content_type)
  const reading = isHtml
    ? await readable(page.text, page.url.href, left, context.signal)
    : { markdown: page.text, links: [], structured: true }
  return answer(await outputOf(input.url, page, reading, input.prompt, context))
}
export default web

/** The way from a host to its `www.` and back is no other site. */
const sameSite = (to: URL, from: URL): boolean => plainHost(to) === plainHost(from)
const plainHost = (url: URL): string => hostOf(url).replace(/^www\./, '')

/** Another site is another call: rules and approvals speak about the host that is asked, not about the one that pointed there. */
async function elsewhere(
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
  if (!result.ok) return { ...result, error: fromHere(result.error, before) }
  const output = result.output as unknown as WebOutput
  return answer({ ...output, url: String(given['url']), redirects: [...before, ...output.redirects] })
}

function fromHere<Failed extends { code: string; message: string; details?: JsonObject }>(
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

async function outputOf(
  url: string,
  page: FetchedPage,
  { title, markdown, links, structured }: PageReading,
  prompt: string | undefined,
  context: Context,
): Promise<WebOutput> {
  const passages = prompt === undefined ? undefined : passagesFor(prompt, markdown)
  const content = firstPoints(markdown, passages ? shownBesidePassages : shown)
  const cut = content.length < markdown.length
  const spool_path = cut ? await spool(context, 'web', markdown, 'md') : undefined
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
    ...(spool_path !== undefined && { next: readOn(spool_path, content) }),
  }
}

const readOn = (path: string, content: string): Next => ({
  tool: 'unified_file',
  input: { action: 'read', path, offset_bytes: Buffer.byteLength(content), page_size_bytes: 65_536 },
})

const bare = 'The page is too heavy or too broken to be read with its structure; this is its bare text.'

function answer(output: WebOutput): Success<WebOutput> {
  const { final_url, status, content_type, title, passages = [], content, truncated, spool_path, structured } = output
  // What we say stands outside of the marks, what the page says inside.
  const ours = [
    `${final_url} answered ${status}, ${content_type}.`,
    ...(content === ''
      ? ['It holds no text; what its scripts would show may be had by defuddle_fetch.']
      : structured
        ? []
        : [bare]),
    ...(spool_path
      ? [`All of it is in ${spool_path}.`]
      : truncated
        ? ['The page is longer; raise max_bytes to read more.']
        : []),
    ...(passages.length > 0
      ? [
          `The ${passages.length} passages nearest to the prompt come first, each after a line of ~~~, then the page from its beginning.`,
        ]
      : []),
  ]
  const theirs = [
    ...(title ? [title] : []),
    ...passages.map((passage) => `~~~\n${passage}`),
    ...(passages.length > 0 ? ['~~~'] : []),
    content,
  ]
  return ok(output, { text: `${ours.join(' ')}\n${fenced(final_url, theirs.join('\n\n'))}` })
}
