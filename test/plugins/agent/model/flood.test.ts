import { describe, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { framesOf, wholeOf } from '../../../support/frames.js'
import { eventsOf, formats, home, vtcode } from '../../../support/peer.js'
import { serve } from '../../../support/server.js'

const input = (pieces: string[]): object => ({
  call: { name: 'unified_file', arguments: ['{"action":"read","path":"a.txt","note":"', ...pieces, '"}'] },
})
const floods: Record<string, (pieces: string[]) => object> = {
  reasoning: (reasoning) => ({ reasoning }),
  arguments: input,
}

describe.each(formats)('flood from a server that speaks %s', (format) => {
  // Possible starts of a secret are held back and checked again, so they are the most expensive texts.
  it.each(Object.keys(floods))(
    'follows %s in any number of pieces to the end within a small heap',
    { timeout: 600_000 },
    async (kind) => {
      const pieces = Array.from<string>({
        length: format === 'openai-chat' ? rounds(20_000, 300_000) : rounds(4_000, 60_000),
      }).fill(kind === 'reasoning' ? '-----BEGIN PRIVATE KEY-----' : 'sk-aB3 x')
      const flood = framesOf(format, floods[kind]!(pieces))
      const answers = [flood.body + flood.end]
      // Each connection is used once, because the server might close it during a long answer.
      await using server = await serve(
        (_, response) =>
          void response
            .writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
            .end(answers.shift() ?? wholeOf(format, { text: 'done' })),
      )
      await using place = await home(
        server,
        { 'a.txt': 'a\n' },
        { format, provider: { retries: { request: 0, stream: 0 } } },
      )
      const { code, out, err } = await vtcode(place, ['exec', '--json', '--deltas', 'go'], {
        node: [`--max-old-space-size=${rounds(64, 256)}`],
      })
      const events = eventsOf(out)
      const errors = events.flatMap(({ error, item }) => error ?? (item?.type === 'error' ? item : []))
      expect({ code, last: events.at(-1), errors, err }).toMatchObject({
        code: 0,
        last: { type: 'thread.completed', outcome_code: 'success' },
        errors: [],
      })
      // Google's servers send arguments whole.
      const told = events
        .filter(({ type, kind: of }) => type === 'item.delta' && of === kind)
        .map(({ text }) => text)
        .join('')
      if (kind === 'reasoning') expect(told).toBe('[redacted:private_key]')
      // Google sends arguments in one piece; a slow reader may miss the middle of them.
      else expect(format === 'google-generative-ai' || JSON.parse(told).note === pieces.join('')).toBe(true)
    },
  )
})
