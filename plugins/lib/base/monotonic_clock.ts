/**
 * Returns milliseconds of a clock that no one sets and that all processes of this machine share. The clock runs on
 * while a process is stopped.
 */
export const readMonotonicClock = (): number => Number(process.hrtime.bigint() / 1_000_000n)
