#!/usr/bin/env bash
# @copilotkit/aimock 1.43.0: the recorded body of a large request is a note, not the request.
#
# Guess: getRequests() of the mock model server returns each request with the body that the client sent.
# Seen: a request body of 64 KiB or less is recorded whole. Of a larger one `body` is an object of three members, with
#   __aimock_truncated: true, originalByteSize: the number of bytes, and a sentence; the model, the messages and the tools are gone.
#   The answer is chosen from the whole body all the same, so the fault shows only in assertions on what was recorded: a check such as
#   "the second request is small" holds for every large request.
# Consequence here: tests that check a size measure the request as it arrives (test/plugins/surface/evaluate.test.ts).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @copilotkit/aimock@1.43.0 >/dev/null
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict'
import { LLMock } from '@copilotkit/aimock'

const mock = new LLMock({ port: 0 })
await mock.start()
mock.on({ predicate: ({ messages }) => messages[0].content.startsWith('x') }, { content: 'seen' })
const ask = async (length) => {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(length) }] })
  const response = await fetch(`${mock.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  assert.equal((await response.json()).choices[0].message.content, 'seen')
  return body.length
}
await ask(60_000)
const size = await ask(70_000)
const [small, large] = mock.getRequests().map(({ body }) => body)
assert.equal(small.messages[0].content.length, 60_000)
assert.deepEqual(Object.keys(large).sort(), ['__aimock_truncated', 'note', 'originalByteSize'])
// The size is that of the request as the server reads it, which adds members of its own.
console.log(`sent ${size} bytes, recorded originalByteSize ${large.originalByteSize}, messages ${large.messages}`)
assert.ok(large.originalByteSize >= size && large.originalByteSize < size + 200)
await mock.stop()
JS
node probe.mjs
