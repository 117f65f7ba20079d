/** Answer to a job. A message without an id first reports that the thread is ready. */
export type JobAnswer<Answer> = { id: number; answer: Answer } | { id: number; failed: string }

/** Runs every job that is sent to this thread. Call it once all modules are loaded. */
export function doJobs<Job, Answer>(work: (job: Job) => Promise<Answer>): void {
  const parentPort = process.getBuiltinModule('node:worker_threads').parentPort!
  parentPort.on('message', async ({ id, job }: { id: number; job: Job }) => {
    const done: JobAnswer<Answer> = await work(job).then(
      (answer) => ({ id, answer }),
      (error: unknown) => ({ id, failed: String(error).slice(0, 200) }),
    )
    parentPort.postMessage(done)
  })
  parentPort.postMessage({})
}
