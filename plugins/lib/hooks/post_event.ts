import { registerSecret, toText } from '../../../core/text/index.js'
import { fetchPage, toHost } from '../net/index.js'
import type { HookEnvironment, HookEntry } from './entries.js'

/**
 * Posts an event with the common fetcher. A private host must be listed in `web.private_hosts`. Returns the JSON text,
 * or the fault.
 */
export async function postEvent(
  entry: HookEntry,
  body: string,
  { env, settings, signal }: HookEnvironment,
  limits: { seconds: number; max_bytes: number },
): Promise<{ text: string; fault?: string }> {
  const fail = (reason: string) => ({ text: '', fault: reason })
  if (!URL.canParse(entry.url!)) return fail('has an invalid address')
  const url = new URL(entry.url!)
  if (url.protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(toHost(url)))
    return fail('would send the event unencrypted; use https')
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
  if (page.status < 200 || page.status > 299) return fail(`answered with status ${page.status}`)
  if (page.truncated) return fail('answered with more than 1 MiB')
  return text === '' || text.startsWith('{') ? { text } : fail('answered with text that is not a JSON object')
}

/** Replaces `$NAME` and `${NAME}` in headers with variables that the entry lists; others become empty. */
function fillHeaders(
  { headers = {}, allowedEnvVars: allowed = [] }: HookEntry,
  env: HookEnvironment['env'],
): Record<string, string> {
  const fillVariables = (text: string): string =>
    text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced: string | undefined, bare: string | undefined) => {
      const name = (braced ?? bare)!
      const value = allowed.includes(name) ? (env[name] ?? '') : ''
      registerSecret(value, name)
      return value
    })
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [
      name.toLowerCase(),
      fillVariables(toText(text)).replace(/[\r\n\0]/g, ''),
    ]),
  )
}
