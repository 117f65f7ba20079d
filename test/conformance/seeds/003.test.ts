import { follow } from '../../support/seed.js'
import { rows as agent } from './003/agent.js'
import { boot, rows as program } from './003/program.js'

follow('003', [...program, ...agent], boot)
