#!/usr/bin/env bash
# parse-sse 0.1.0 and fetch-event-stream 0.1.6: events of a valid stream change, for one by where the network cut it.
#
# Guess: parsers that read streams of models give the events of the HTML standard, wherever a chunk ends; eventsource-parser 4.1.3 does.
# Seen:  parse-sse, when a chunk ends between CR and LF: the LF counts as an empty line, so an event of two data lines becomes two, and the
#          second has lost its type. It also hands out an event without its closing empty line, the mark of a stream that was cut.
#        fetch-event-stream takes all spaces and tabs from the front of a data line, not one, so indented text loses its indent. An event
#          whose data is empty is dropped, one that has no data at all is handed out, and an `id` of digits becomes a number.
#        Neither throws.
# Consequence here: plugins/agent/wire/events.ts reads streams of models itself; it removes one space and joins the lines of an event.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts eventsource-parser@4.1.3 fetch-event-stream@0.1.6 parse-sse@0.1.0 >/dev/null
cat >try.mjs <<'JS'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { events } from 'fetch-event-stream'
import { parseServerSentEvents } from 'parse-sse'
const bytes = new TextEncoder()
const response = (chunks) => {
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(bytes.encode(chunk))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const libraries = {
  'eventsource-parser': (chunks) =>
    response(chunks).body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()),
  'parse-sse': (chunks) => parseServerSentEvents(response(chunks)),
  'fetch-event-stream': (chunks) => events(response(chunks)),
}
const streams = {
  whole: ['event: delta\r\ndata: a\r\ndata: b\r\n\r\n'],
  'cut in CR LF': ['event: delta\r\ndata: a\r', '\ndata: b\r\n\r\n'],
  unfinished: ['data: a\n\ndata: b\n'],
  indented: ['data:     return x\n\n'],
  'empty data': ['data\n\ndata: a\n\n'],
  'no data': ['event: ping\n\nid: 7\ndata: a\n\n'],
}
for (const [name, chunks] of Object.entries(streams)) {
  for (const [library, read] of Object.entries(libraries)) {
    const seen = []
    for await (const event of read(chunks)) seen.push([event.event ?? event.type, event.data, event.id || event.lastEventId || undefined])
    console.log(`${name}, ${library}: ${JSON.stringify(seen).replaceAll('null', '-')}`)
  }
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
whole, eventsource-parser: [["delta","a\nb",-]]
whole, parse-sse: [["delta","a\nb",-]]
whole, fetch-event-stream: [["delta","a\nb",-]]
cut in CR LF, eventsource-parser: [["delta","a\nb",-]]
cut in CR LF, parse-sse: [["delta","a",-],["message","b",-]]
cut in CR LF, fetch-event-stream: [["delta","a\nb",-]]
unfinished, eventsource-parser: [[-,"a",-]]
unfinished, parse-sse: [["message","a",-],["message","b",-]]
unfinished, fetch-event-stream: [[-,"a",-]]
indented, eventsource-parser: [[-,"    return x",-]]
indented, parse-sse: [["message","    return x",-]]
indented, fetch-event-stream: [[-,"return x",-]]
empty data, eventsource-parser: [[-,"",-],[-,"a",-]]
empty data, parse-sse: [["message","a",-]]
empty data, fetch-event-stream: [[-,"a",-]]
no data, eventsource-parser: [[-,"a","7"]]
no data, parse-sse: [["message","a","7"]]
no data, fetch-event-stream: [["ping",-,-],[-,"a",7]]
SEEN
