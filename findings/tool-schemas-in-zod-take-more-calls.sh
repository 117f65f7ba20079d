#!/usr/bin/env bash
# zod 4.6.7, `fromJSONSchema`, and json-schema-to-zod 2.8.1: valid schemas of tools take calls that the schema refuses, without an error.
#
# Guess: a converter that throws for `not`, `if` and `dependentRequired` throws for everything that it cannot keep.
# Seen:  each row is a schema and the values that ajv 8.20.0 refuses and the converted schema takes. Both converters lose `required` of a
#        name without an entry in `properties`, `required` without `type`, and `anyOf` of two `required` lists, the usual form of "either
#        path or url". json-schema-to-zod also loses `prefixItems` and `minProperties`. zod-from-json-schema 0.5.6 keeps all of them.
# Consequence here: arguments of tools are checked by a validator of JSON Schema, never by a converted schema.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts zod@4.6.7 json-schema-to-zod@2.8.1 zod-from-json-schema@0.5.6 ajv@8.20.0 >/dev/null
cat >try.mjs <<'JS'
import Ajv from 'ajv/dist/2020.js'
import { jsonSchemaToZod } from 'json-schema-to-zod'
import { z } from 'zod'
import { convertJsonSchemaToZod } from 'zod-from-json-schema'
const ajv = new Ajv.default({ strict: false })
const text = { type: 'string' }
const cases = {
  'required without an entry': [{ type: 'object', properties: {}, required: ['path'] }, [{}]],
  'required without type': [{ properties: { path: text }, required: ['path'] }, [{}, { path: 1 }]],
  'either path or url': [{ type: 'object', properties: { path: text, url: text }, anyOf: [{ required: ['path'] }, { required: ['url'] }] }, [{}]],
  pair: [{ type: 'array', prefixItems: [{ type: 'integer' }, { type: 'integer' }], items: false }, [['a', 2], [1, 2, 3]]],
  'not empty': [{ type: 'object', minProperties: 1 }, [{}]],
}
const converters = {
  zod: (schema) => z.fromJSONSchema(schema),
  'json-schema-to-zod': (schema) => new Function('z', `return ${jsonSchemaToZod(schema)}`)(z),
  'zod-from-json-schema': (schema) => convertJsonSchemaToZod(schema),
}
for (const [name, [schema, values]] of Object.entries(cases)) {
  if (values.some(ajv.compile(schema))) throw new Error(`ajv takes a value: ${name}`)
  for (const [converter, convert] of Object.entries(converters)) {
    const taken = values.filter((value) => convert(schema).safeParse(value).success)
    if (taken.length > 0) console.log(`${name}, ${converter} takes ${taken.map((value) => JSON.stringify(value)).join(' ')}`)
  }
}
try {
  z.fromJSONSchema({ not: { type: 'string' } })
} catch {
  console.log('zod throws for not')
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
required without an entry, zod takes {}
required without an entry, json-schema-to-zod takes {}
required without type, zod takes {} {"path":1}
required without type, json-schema-to-zod takes {} {"path":1}
either path or url, zod takes {}
either path or url, json-schema-to-zod takes {}
pair, json-schema-to-zod takes ["a",2] [1,2,3]
not empty, json-schema-to-zod takes {}
zod throws for not
SEEN
