import { hold, scene } from './inside.js'
import { startPeer, type Format } from './peer.js'
import { serve } from './server.js'

export type Script = Parameters<typeof startPeer>[0]

/** A scene whose requests are kept as they came over the wire; `refuse` answers instead where it has something to say. */
export async function wired(
  format: Format,
  script: Script,
  extra: object = {},
  refuse: (body: string) => string | undefined = () => undefined,
) {
  const peer = hold(await startPeer(script))
  const bodies: string[] = []
  const between = hold(
    await serve(async (_, response, { method, path, body }) => {
      bodies.push(String(body))
      const refusal = refuse(String(body))
      if (refusal !== undefined)
        return void response.writeHead(400, { 'content-type': 'application/json' }).end(refusal)
      const init: RequestInit = { method, body, headers: { 'content-type': 'application/json' } }
      const answer = await fetch(`${peer.url}${path}`, init)
      response
        .writeHead(answer.status, { 'content-type': 'text/event-stream' })
        .end(Buffer.from(await answer.arrayBuffer()))
    }),
  )
  return Object.assign(await scene([], { url: between.url, format, ...extra }), { bodies })
}
