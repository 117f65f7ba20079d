export { cutToDifference } from './difference.js'
export { openRecording, openRecordingFile, type Recording } from './recording.js'
export { Replayer, toFailedReplay, type RecordedPart, type SessionReplay } from './replay.js'
export { formatJunit, formatReplay, toReplayCase, toReplayRow, type JunitCase } from './report.js'
