#!/usr/bin/env bash
# @ai-sdk/google 3.0.141: limits in the schema of a tool do not reach Gemini, except for the least length of a text.
#
# Guess: what Gemini's form of a schema can say (`minimum`, `maximum`, `pattern`, `maxLength`, `minItems`, `maxItems`, `default`) is sent,
#   and what it cannot say is refused or reported as a warning.
# Seen:  the request has `minLength` and none of the others, and no warning is in the result. `$ref` is filled in, so the shape is whole. An
#        integer with an `enum` is sent with its values as texts. With `jsonSchema()`, as for tools of MCP servers, no limit is checked
#        afterwards either: a call with 12 where 9 is the maximum is run. @google/genai 3.3.0 sends the same schema unchanged.
# Consequence here: arguments are checked against the schema of the tool before each call (core/schema).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @ai-sdk/google@3.0.141 ai@6.0.326 @google/genai@3.3.0 zod@4.6.7 >/dev/null 2>&1
cat >try.mjs <<'JS'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { GoogleGenAI } from '@google/genai'
import { generateText, jsonSchema, tool } from 'ai'
const schema = {
  type: 'object',
  $defs: { count: { type: 'integer', minimum: 1, maximum: 9 } },
  properties: {
    count: { $ref: '#/$defs/count' },
    name: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$', default: 'ab' },
    list: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
    step: { type: 'integer', enum: [1, 2] },
  },
}
let sent
globalThis.fetch = async (url, { body }) => {
  sent = JSON.parse(body)
  const parts = [{ functionCall: { name: 'take', args: { count: 12, name: 'ab', list: [] } } }]
  return Response.json({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] })
}
const show = (label, { properties, $defs }) => {
  console.log(label)
  for (const [name, value] of Object.entries({ ...properties, ...($defs && { 'count of $defs': $defs.count }) }))
    console.log(`  ${name}: ${JSON.stringify(value)}`)
}
const model = createGoogleGenerativeAI({ apiKey: 'k' })('gemini-2.5-flash')
const execute = ({ count }) => console.log(`runs with ${count}`)
const take = tool({ description: 'Takes.', inputSchema: jsonSchema(schema), execute })
const { warnings } = await generateText({ model, prompt: 'x', tools: { take } })
console.log(`warnings: ${warnings?.length ?? 0}`)
show('@ai-sdk/google', sent.tools[0].functionDeclarations[0].parameters)
const tools = [{ functionDeclarations: [{ name: 'take', description: 'Takes.', parametersJsonSchema: schema }] }]
await new GoogleGenAI({ apiKey: 'k' }).models.generateContent({ model: 'gemini-2.5-flash', contents: 'x', config: { tools } })
show('@google/genai', sent.tools[0].functionDeclarations[0].parametersJsonSchema)
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
runs with 12
warnings: 0
@ai-sdk/google
  count: {"type":"integer"}
  name: {"type":"string","minLength":2}
  list: {"type":"array","items":{"type":"string"}}
  step: {"type":"integer","format":"enum","enum":["1","2"]}
@google/genai
  count: {"$ref":"#/$defs/count"}
  name: {"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$","default":"ab"}
  list: {"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3}
  step: {"type":"integer","enum":[1,2]}
  count of $defs: {"type":"integer","minimum":1,"maximum":9}
SEEN
