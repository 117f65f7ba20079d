#!/usr/bin/env bash
# tokenlens 1.3.1: `openai/gpt-4o` is free and `openai:gpt-4o` costs 12.50 USD.
#
# Guess: the two spellings that the package accepts for a model give one price, and a model that it knows to cost money is never free.
# Seen:  for one million tokens each way, `estimateCost` gives 0 USD for openai/gpt-4o, gpt-4o-mini, gpt-4.1-mini, o1, o3-mini and o4-mini
#        and for xai/grok-3, and a price for the same names with a colon. The bundled list has these names with a slash as models of
#        github-models, a provider with free use, and that entry comes first. openai/gpt-4.1 and gpt-5 have their price in both spellings.
#        A model without an entry gives no figure at all, so that 0 looks like a known price.
# Consequence here: prices come from the settings of a model; a model without one has none (plugins/agent/model/usage.ts).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts tokenlens@1.3.1 >/dev/null
cat >try.mjs <<'JS'
import { estimateCost } from 'tokenlens'
const usage = { input_tokens: 1e6, output_tokens: 1e6 }
const models = ['openai/gpt-4o', 'openai/gpt-4o-mini', 'openai/gpt-4.1-mini', 'openai/o1', 'openai/o3-mini', 'openai/o4-mini', 'xai/grok-3',
  'openai/gpt-4.1', 'openai/gpt-5', 'openai/gpt-0']
const estimate = (modelId) => estimateCost({ modelId, usage }).totalUSD?.toFixed(2) ?? 'none'
for (const id of models) console.log(id, estimate(id), estimate(id.replace('/', ':')))
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
openai/gpt-4o 0.00 12.50
openai/gpt-4o-mini 0.00 0.75
openai/gpt-4.1-mini 0.00 2.00
openai/o1 0.00 75.00
openai/o3-mini 0.00 5.50
openai/o4-mini 0.00 5.50
xai/grok-3 0.00 18.00
openai/gpt-4.1 10.00 10.00
openai/gpt-5 11.25 11.25
openai/gpt-0 none none
SEEN
