/** A compactor may only shrink: what it would add is passed over. */
export default function {{camel}}(result) {
  if (!result.ok || result.text === undefined) return result
  return { ...result, text: result.text.split('\n').filter((line) => !/^Downloading /.test(line)).join('\n') }
}
