import { defineConfig } from 'vitest/config'

// The slow and rough half of the suite: processes that are killed, disks that are full.
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/faults/*.faults.ts'],
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 1_800_000,
    fileParallelism: false,
    pool: 'forks',
  },
})
