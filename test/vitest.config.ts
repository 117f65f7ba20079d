import { defineConfig } from 'vitest/config'

// Tests run against the built program, as users do: dist/ is loaded by Node itself, never transformed.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/run.ts', 'test/support/provoked.ts'],
    setupFiles: ['test/support/own.ts'],
    server: { deps: { external: [/\/(?:build|dist)\//] } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine is waited for; what is looked for once a moment mostly is there at once.
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // More than there are processors: tests wait for programs more than they compute.
    maxWorkers: 4,
  },
})
