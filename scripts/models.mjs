// Refreshes manifests/provider/_models.json: `node scripts/models.mjs [source] [--to file]`, in packages' words `npm run models -- [source]`. A source is
// - an address or a file with what https://models.dev/api.json answers, which is the default, or
// - `npm:<package>`: a package that carries such a catalogue, in the form of @earendil-works/pi-ai (MIT), for where models.dev cannot be reached.
// `first`, the models to choose from where nobody chose one, is kept by hand and stays; a model of it without window, limit or price is an error.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { to: { type: 'string', default: join(root, 'manifests/provider/_models.json') } },
})
const [source = 'https://models.dev/api.json'] = positionals
/** A model that holds less is of no use to an agent. */
const least = 64_000
/** Those whose servers list their models: of them only the first choices are kept. */
const listed = new Set(['openrouter'])

const { first } = JSON.parse(readFileSync(values.to, 'utf8'))
const { as_of, from, catalogue } = source.startsWith('npm:')
  ? fromPackage(source.slice(4))
  : await fromModelsDev(source)
const models = {}
for (const [provider, chosen] of Object.entries(first)) {
  const known = catalogue(provider)
  for (const id of chosen) {
    const { context_window, max_output_tokens, cost } = known[id] ?? {}
    if (!context_window || !max_output_tokens || !cost)
      throw new Error(`${provider}/${id} is a first choice; ${source} has no window, limit or price of it.`)
  }
  // The first choices in their order, then the rest by name.
  const rest = listed.has(provider)
    ? []
    : Object.keys(known)
        .filter((id) => !chosen.includes(id) && known[id].context_window >= least)
        .sort()
  for (const id of [...chosen, ...rest]) models[`${provider}/${id}`] = known[id]
}
const lines = (map) =>
  Object.entries(map)
    .map(([key, value]) => `    ${JSON.stringify(key)}: ${spaced(value)}`)
    .join(',\n')
const spaced = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
writeFileSync(
  values.to,
  `{\n  "as_of": ${JSON.stringify(as_of)},\n  "source": ${JSON.stringify(from)},\n  "first": {\n${lines(first)}\n  },\n  "models": {\n${lines(models)}\n  }\n}\n`,
)
console.log(`${Object.keys(models).length} models, as of ${as_of}, from ${from}.`)

/** What our table says of a model. */
function facts(provider, { window, output, reasoning, vision, price }) {
  const rest = Object.entries({ cache_read: price?.cache_read, cache_write: price?.cache_write }).filter(
    ([, usd]) => usd > 0,
  )
  return {
    context_window: window,
    max_output_tokens: output,
    supports_reasoning: reasoning === true,
    ...(reasoning && provider === 'openai' && { supports_reasoning_effort: true }),
    supports_vision: vision === true,
    ...(price?.input !== undefined &&
      price.output !== undefined && {
        cost: { input: price.input, output: price.output, ...Object.fromEntries(rest) },
      }),
  }
}

async function fromModelsDev(place) {
  const text = /^https?:/.test(place)
    ? await fetch(place, { redirect: 'error' }).then((answer) =>
        answer.ok ? answer.text() : Promise.reject(new Error(`${place} answers ${answer.status}.`)),
      )
    : readFileSync(place, 'utf8')
  const all = JSON.parse(text)
  const catalogue = (provider) => {
    const able = Object.values(all[provider]?.models ?? {}).filter((one) => one.tool_call !== false)
    return Object.fromEntries(
      able.map((one) => [
        one.id,
        facts(provider, {
          window: one.limit?.context,
          output: one.limit?.output,
          reasoning: one.reasoning,
          vision: one.modalities?.input?.includes('image'),
          price: one.cost,
        }),
      ]),
    )
  }
  return { as_of: new Date().toISOString().slice(0, 10), from: 'models.dev', catalogue }
}

function fromPackage(name) {
  const at = mkdtempSync(join(tmpdir(), 'models-'))
  try {
    const [{ filename, version }] = JSON.parse(
      execFileSync('npm', ['pack', name, '--json', '--ignore-scripts', '--pack-destination', at], { encoding: 'utf8' }),
    )
    execFileSync('tar', ['-xzf', join(at, filename.replace(/^@/, '').replace('/', '-')), '-C', at])
    const read = (file) => JSON.parse(readFileSync(join(at, 'package/dist/providers/data', file), 'utf8'))
    const data = Object.fromEntries(
      Object.keys(first).map((provider) => [
        provider,
        Object.values(read(`${provider}.json`)).flatMap((wire) => Object.values(wire)),
      ]),
    )
    const catalogue = (provider) => {
      const chat = data[provider].filter(({ type }) => type === 'chat')
      const price = ({ cost }) =>
        cost && { input: cost.input, output: cost.output, cache_read: cost.cacheRead, cache_write: cost.cacheWrite }
      return Object.fromEntries(
        chat.map((one) => [
          one.id,
          facts(provider, {
            window: one.contextWindow,
            output: one.maxTokens,
            reasoning: one.reasoning,
            vision: one.input?.includes('image'),
            price: price(one),
          }),
        ]),
      )
    }
    return {
      as_of: read('.manifest.json').generatedAt.slice(0, 10),
      from: `models.dev, as ${name.replace(/(?<=.)@.*/, '')} ${version} of npm carries it`,
      catalogue,
    }
  } finally {
    rmSync(at, { recursive: true, force: true })
  }
}
