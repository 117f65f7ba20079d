import { follow } from '../../support/seed.js'
import { rows as agent } from './003/agent.js'
import { rows as planned } from './003/planned.js'
import { boot, rows as program } from './003/program.js'
import { rows as records } from './003/records.js'
import { rows as schedules } from './003/schedules.js'
import { rows as screen } from './003/screen.js'

follow('003', [...program, ...agent, ...planned, ...schedules, ...records, ...screen], boot)
