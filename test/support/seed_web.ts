import type { Boot, Booted } from 'vtcode/test'
import { apart, type Check } from './seed.js'
import { serve, site, type Answering, type TestServer } from './server.js'

/** A workspace whose whole web is one server: pages by their path, the form of DuckDuckGo at /html/, the reader service below /reader/. */
export function online(
  pages: Record<string, Answering>,
  { config, ...boot }: Boot = {},
): (check: (place: Booted, server: TestServer) => unknown) => Check {
  let server: TestServer
  const within = apart(async () => {
    server = await serve((request, response, seen) => {
      const reader = request.url!.startsWith('/reader/') ? pages['/reader/'] : undefined
      ;(reader ?? site(pages))(request, response, seen)
    })
    const web = {
      private_hosts: ['127.0.0.1'],
      search: { min_interval_secs: 0, max_calls_per_session: 4 },
      defuddle: { base_url: `${server.url}/reader/` },
      ...(config?.['web'] as object),
    }
    return {
      ...boot,
      config: {
        ...config,
        web,
        plugins: { settings: { 'builtin:web_search': { options: { endpoint: `${server.url}/html/` } } } },
      } as never,
      ends: server,
    }
  })
  return (check) => within((place) => check(place, server))
}
