export { LazyAbort, Semaphore, InFlight, withTimeout } from './async.js'
export { blocksOf, dataFolder, moduleOf, optionsOf } from './contribution.js'
export { errno, systemRefusal } from './errno.js'
export { VtError, codes, firstLine, problem, report, texts, type Code, type Values } from './errors.js'
export { hostPattern, matchSequence, pathPattern, wildcard } from './glob.js'
export { byBytes, sha256 } from './hash.js'
export { deepFreeze, isObject, toJson, jsonSize } from './json.js'
export { decodeName, encodeName, inside, normalizePath, segments, shownPath } from './path_text.js'
export { environment, findProgram, isProgram, searchPath, signalGroup, start } from './process.js'
export { programFile } from './program_files.js'
export { fail, failure, notApplied, ok } from './result.js'
export { keepSecret, looksSecret, redact, redactText, sameSize, secrets, withoutValues } from './secrets.js'
export { writeState, writeStateSync } from './state_file.js'
export { nearest } from './suggest.js'
export type {
  Call, CallTool, ContentBlock, Contribution, ContributionInfo, Diagnostic, Effect, Failure, Inference, Json, JsonObject, Kind, Launch, Layer, Manifest,
  ManifestEntry, Mode, Next, Notice, PluginFolder, Problem, PromptArgument, Resolution, Result, Schema, Settings, SlotInfo, Slots, Stage, State, Success,
  ToolInfo, Waits,
} from './types.js'
export { version } from './version.js'
export { usualWaits } from './waits.js'
