import { defineConfig } from 'vitest/config'

// The slow and rough half of the suite: processes that are killed, disks that are full.
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/faults/*.faults.ts'],
    globalSetup: ['test/support/run.ts'],
    setupFiles: ['test/support/own.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Bounds a hang, no more: in the long run the kills alone take many minutes.
    testTimeout: process.env['VTCODE_SOAK'] ? 3_600_000 : 600_000,
    fileParallelism: false,
    pool: 'forks',
  },
})
