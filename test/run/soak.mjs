// `npm run test:soak`: the long forms of all tests, then all faults. Hours; options go to vitest, for example a file.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const env = { ...process.env, VTCODE_SOAK: '1', FC_RUNS: process.env.FC_RUNS ?? '2500' }
const words = process.argv.slice(2)
const configs = words.length > 0 ? ['test/vitest.config.ts'] : ['test/vitest.config.ts', 'test/faults/config.ts']
const codes = configs.map(
  (config) =>
    spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--config', config, ...words], {
      cwd: root,
      env,
      stdio: 'inherit',
    }).status ?? 1,
)
process.exit(Math.max(...codes))
