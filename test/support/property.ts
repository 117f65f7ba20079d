import fc from 'fast-check'

// FC_RUNS=1000 is ten times as many of every property as usual, for when time is not short.
const share = Number(process.env['FC_RUNS'] ?? 100) / 100

/** Returns how often to try a property, scaled from the usual number. */
export const runs = (usual: number): number => Math.ceil(usual * share)

// A usual run tries the same inputs each time, so a red test is caused by the change. The soak run draws new ones.
const seed = process.env['VTCODE_SOAK'] ? undefined : Number(process.env['FC_SEED'] ?? 1)

fc.configureGlobal({ numRuns: runs(100), ...(seed !== undefined && { seed }) })
export { fc }
