export { type LogFaults, readEvents } from './log.js'
export { reduce, reduceLog } from './reduce.js'
export { RunReducer, type LoggedEvent } from './run_reducer.js'
export { isDenied, isFailed, toArguments } from './traced_call.js'
export type {
  BoundaryEntry,
  ChildEntry,
  MessageEntry,
  NoteEntry,
  OwnCallEntry,
  RunHead,
  RunPiece,
  RunTotals,
  SegmentEntry,
  StepRecord,
  StepText,
  TracedCall,
  TracedEnd,
  TracedRun,
  TurnEntry,
  TurnRecord,
} from './types.js'
