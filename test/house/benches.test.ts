import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const folder = new URL('../bench/', import.meta.url)
const benches = readdirSync(folder).filter((name) => name.endsWith('.bench.mjs'))

// Benches import rooms of the build and run outside the suite, so only this test sees that a renamed export broke one.
describe('benches', () => {
  it.each(benches)('exports a bench whose imports exist: %s', async (name) => {
    expect(await import(new URL(name, folder).href)).toHaveProperty('default', expect.any(Function))
  })
})
