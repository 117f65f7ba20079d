import fc from 'fast-check'

// Property tests run more often where time is not short: FC_RUNS=10000.
fc.configureGlobal({ numRuns: Number(process.env['FC_RUNS'] ?? 100) })
export { fc }
