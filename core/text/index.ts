export { hostPattern, isBegunBy, matchSequence, pathPattern, wildcard } from './glob.js'
export {
  GrowingText,
  keepSecret,
  keepSecretsOf,
  looksSecret,
  redact,
  redactText,
  sameSize,
  settled,
  withoutValues,
} from './secrets.js'
export { likest, nearest } from './suggest.js'
export {
  block,
  inert,
  shortLine,
  toText,
  visible,
  visibleJson,
  visibleLine,
  visibleProgress,
  visibleText,
  withoutInvisible,
} from './visible.js'
