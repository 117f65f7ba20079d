import fc from 'fast-check'

// FC_RUNS=1000 is ten times as many of every property as usual, for when time is not short.
const share = Number(process.env['FC_RUNS'] ?? 100) / 100

/** Returns how often to try a property, scaled from the usual number. */
export const runs = (usual: number): number => Math.ceil(usual * share)

fc.configureGlobal({ numRuns: runs(100) })
export { fc }
