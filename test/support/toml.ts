import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface TomlReader extends AsyncDisposable {
  /** Returns what Python reads from a TOML file; infinities become null. */
  read(file: string): Promise<any>
}

const SCRIPT = `import json, sys, tomllib
for line in sys.stdin:
  try:
    answer = {'value': tomllib.load(open(json.loads(line), 'rb'))}
  except Exception as error:
    answer = {'error': str(error)}
  print(json.dumps(answer, default=str), flush=True)`

/** Starts one Python process that reads many files, because the start of Python costs more than the reading. */
export function startTomlReader(): TomlReader {
  const python = spawn('python3', ['-c', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(python.stdout)[Symbol.asyncIterator]()
  return {
    async read(file) {
      python.stdin.write(`${JSON.stringify(file)}\n`)
      const { value: line } = await lines.next()
      const answer = JSON.parse((line ?? '{"error":"Python has ended."}').replace(/-?Infinity/g, 'null'))
      if (answer.error !== undefined) throw new Error(`${file}: ${answer.error}`)
      return answer.value
    },
    async [Symbol.asyncDispose]() {
      python.stdin.end()
      if (python.exitCode === null) await once(python, 'exit')
    },
  }
}
