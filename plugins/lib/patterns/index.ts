export {
  describePlace,
  findError,
  findGap,
  hasError,
  hasErrorInProcess,
  isComplete,
  parseTree,
  type PatternPlace,
} from './pattern_errors.js'
export { PatternReader, type PatternReading } from './readings.js'
export { findRequiredText } from './required_text.js'
export {
  findUnbound,
  parseRewriteTemplate,
  renderReplacement,
  type Captured,
  type RewriteTemplate,
} from './template.js'
export { isProse, toTextTrace } from './text_trace.js'
