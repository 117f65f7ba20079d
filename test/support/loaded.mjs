// Writes down which modules a program loads: `node --import`, with the file to write to in LOADED.
import { writeFileSync } from 'node:fs'
import { register } from 'node:module'

writeFileSync(process.env.LOADED, '')
const hooks = `
import { appendFileSync } from 'node:fs'
export async function load(url, context, next) {
  appendFileSync(${JSON.stringify(process.env.LOADED)}, url + '\\n')
  return next(url, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
