import { keepSecret, toText } from '../../../core/text/index.js'
import { fetchPage, hostOf } from '../net/index.js'
import type { HookEnvironment, HookEntry } from './entries.js'

/**
 * Posts an event through the fetcher that everything else goes through; a host that is not public is one the user has named in
 * `web.private_hosts`. Answers the JSON that came, or what is wrong.
 */
export async function postEvent(
  entry: HookEntry,
  body: string,
  { env, settings, signal }: HookEnvironment,
  limits: { seconds: number; max_bytes: number },
): Promise<{ text: string; wrong?: string }> {
  const wrong = (reason: string) => ({ text: '', wrong: reason })
  if (!URL.canParse(entry.url!)) return wrong('has an invalid address')
  const url = new URL(entry.url!)
  if (url.protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(hostOf(url)))
    return wrong('would send what happens here over plain http')
  const page = await fetchPage(
    {
      url: url.href,
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', ...fillHeaders(entry, env) },
      body,
      max_bytes: limits.max_bytes,
      timeout_secs: limits.seconds,
      max_redirects: 0,
      follow: () => false,
      accepts: () => true,
    },
    { ...settings.web, enabled: true },
    signal,
  )
  const text = page.text.trim()
  if (page.status < 200 || page.status > 299) return wrong(`answered with the status ${page.status}`)
  if (page.truncated) return wrong('answered more than 1 MiB')
  return text === '' || text.startsWith('{') ? { text } : wrong('answered what is no JSON object')
}

/** `$NAME` and `${NAME}` of a header stand for the variables that the entry lists; others are empty. */
function fillHeaders(
  { headers = {}, allowedEnvVars: allowed = [] }: HookEntry,
  env: HookEnvironment['env'],
): Record<string, string> {
  const fillVariables = (text: string): string =>
    text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced: string | undefined, bare: string | undefined) => {
      const name = (braced ?? bare)!
      const value = allowed.includes(name) ? (env[name] ?? '') : ''
      keepSecret(value, name)
      return value
    })
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [
      name.toLowerCase(),
      fillVariables(toText(text)).replace(/[\r\n\0]/g, ''),
    ]),
  )
}
