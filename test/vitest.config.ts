import { defineConfig } from 'vitest/config'

// Tests run against the built program, as users do: dist/ is loaded by Node itself, never transformed.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/run.ts', 'test/support/provoked.ts'],
    setupFiles: ['test/support/own.ts'],
    server: { deps: { external: [/\/(?:build|dist)\/.*\.c?js$/] } },
    // A busy machine is waited for; what is looked for once a moment mostly is there at once. A test that sets a shorter limit of its own would be red there.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    // The program keeps secrets, programs and folders as long as its process lives: a process for each file keeps one file's from another.
    pool: 'forks',
    // More than there are processors: tests wait for programs more than they compute.
    maxWorkers: 4,
  },
})
