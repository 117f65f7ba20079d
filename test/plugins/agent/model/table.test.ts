import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const file = join(root, 'manifests/provider/_models.json')
interface Table {
  as_of: string
  source: string
  first: Record<string, string[]>
  models: Record<string, { context_window: number; max_output_tokens: number; cost: { input: number; output: number } }>
}
const table = JSON.parse(readFileSync(file, 'utf8')) as Table

describe('model table', () => {
  it('names its source and date and has window, limit, price, vision and reasoning of each first choice', () => {
    expect(table).toMatchObject({
      as_of: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      source: expect.stringContaining('models.dev'),
    })
    expect(Object.keys(table.first)).toEqual(['anthropic', 'openai', 'google', 'deepseek', 'openrouter'])
    const numbers = {
      context_window: expect.any(Number),
      max_output_tokens: expect.any(Number),
      cost: { input: expect.any(Number), output: expect.any(Number) },
    }
    for (const [provider, ids] of Object.entries(table.first)) {
      expect(ids.length, provider).toBeGreaterThan(0)
      for (const id of ids)
        expect(table.models[`${provider}/${id}`], id).toMatchObject({
          ...numbers,
          supports_vision: expect.any(Boolean),
          supports_reasoning: expect.any(Boolean),
        })
    }
  })

  const folder = () => {
    const at = mkdtempSync(join(tmpdir(), 'table-'))
    cpSync(file, join(at, 'table.json'))
    return at
  }
  const refresh = (source: string, to: string) =>
    spawnSync(process.execPath, [join(root, 'scripts/models.mjs'), source, '--to', to], { encoding: 'utf8' })
  const dev = (ids: Record<string, string[]>) =>
    Object.fromEntries(
      Object.entries(ids).map(([provider, names]) => [
        provider,
        {
          models: Object.fromEntries(
            names.map((id) => [
              id,
              {
                id,
                tool_call: true,
                reasoning: true,
                modalities: { input: ['text', 'image'] },
                limit: { context: 300_000, output: 30_000 },
                cost: { input: 1, output: 2, cache_read: 0.1, cache_write: 0 },
              },
            ]),
          ),
        },
      ]),
    )

  it('updates the table from models.dev and keeps the first choices, which are maintained by hand', () => {
    const at = folder()
    const small = { id: 'small', limit: { context: 8000, output: 1000 }, cost: { input: 1, output: 1 } }
    const answer = dev({ ...table.first, anthropic: [...table.first['anthropic']!, 'claude-newest'] })
    Object.assign(answer['anthropic']!.models, { small })
    writeFileSync(join(at, 'api.json'), JSON.stringify(answer))
    expect(refresh(join(at, 'api.json'), join(at, 'table.json'))).toMatchObject({ status: 0, stderr: '' })
    const { first, models, source } = JSON.parse(readFileSync(join(at, 'table.json'), 'utf8')) as Table
    expect([first, source]).toEqual([table.first, 'models.dev'])
    expect(Object.keys(models)).toEqual([
      ...Object.entries(table.first).flatMap(([provider, ids]) => [
        ...ids.map((id) => `${provider}/${id}`),
        ...(provider === 'anthropic' ? ['anthropic/claude-newest'] : []),
      ]),
    ])
    expect(models['anthropic/claude-newest']).toEqual({
      context_window: 300_000,
      max_output_tokens: 30_000,
      supports_reasoning: true,
      supports_vision: true,
      cost: { input: 1, output: 2, cache_read: 0.1 },
    })
    expect(models['openai/gpt-6.1-sol']).toMatchObject({ supports_reasoning_effort: true })
  })
  it('refuses a table whose source lacks window, limit or price of a first choice', () => {
    const at = folder()
    const answer = dev(table.first)
    delete answer['google']!.models[table.first['google']![0]!]
    writeFileSync(join(at, 'api.json'), JSON.stringify(answer))
    expect(refresh(join(at, 'api.json'), join(at, 'table.json'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`google/${table.first['google']![0]} is a first choice`),
    })
    expect(readFileSync(join(at, 'table.json'), 'utf8')).toBe(readFileSync(file, 'utf8'))
  })
})
