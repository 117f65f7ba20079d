export type { DeltaStream } from './deltas.js'
export { createFileSink, formatEventLine, createJournalSink } from './file_sinks.js'
export { Events } from './events.js'
export {
  describeInput,
  countItem,
  formatNotApplied,
  formatPartLine,
  createProgressSink,
  describeReason,
  formatSummary,
  type RunChanges,
} from './progress.js'
export { createPacedSink, RunReader } from './reader.js'
