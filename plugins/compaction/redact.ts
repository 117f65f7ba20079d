import { redact as clean, type Compactor } from '../../core/index.js'

/** Redacts secrets of known formats, and those of our environment, in every result and error. */
const redact: Compactor = (result, _, context) => {
  if (!context.settings.output.redact) return result
  if (!result.ok) {
    const error = clean(result.error)
    return error === result.error ? result : { ...result, error }
  }
  const output = clean(result.output)
  const text = result.text === undefined ? undefined : clean(result.text)
  return output === result.output && text === result.text
    ? result
    : { ...result, output, ...(text !== undefined && { text }) }
}
export default redact
