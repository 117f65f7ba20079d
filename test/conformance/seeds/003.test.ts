import { follow } from '../../support/seed.js'
import { rows as agent } from './003/agent.js'
import { rows as planned } from './003/planned.js'
import { boot, rows as program } from './003/program.js'
import { rows as schedules } from './003/schedules.js'

follow('003', [...program, ...agent, ...planned, ...schedules], boot)
