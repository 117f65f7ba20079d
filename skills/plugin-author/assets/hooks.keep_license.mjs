// Gets the event as JSON; exit code 2 denies, and what it prints to standard error is the reason.
import { readFileSync } from 'node:fs'

const { tool_input: input = {} } = JSON.parse(readFileSync(0, 'utf8'))
if (input.action !== 'read' && /(?:^|\/)LICENSE$/.test(String(input.path))) {
  process.stderr.write('The license stays as it is.\n')
  process.exitCode = 2
}
