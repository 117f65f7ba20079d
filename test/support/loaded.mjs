// Writes down which modules and scripts a program loads: `node --import`, with the file to write to in LOADED.
import { appendFileSync, writeFileSync } from 'node:fs'
import { register } from 'node:module'
import vm from 'node:vm'

writeFileSync(process.env.LOADED, '')
const hooks = `
import { appendFileSync } from 'node:fs'
export async function load(url, context, next) {
  appendFileSync(${JSON.stringify(process.env.LOADED)}, url + '\\n')
  return next(url, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
const { Script } = vm
vm.Script = class extends Script {
  constructor(text, options) {
    appendFileSync(process.env.LOADED, `${options.filename}\n`)
    super(text, options)
  }
}
