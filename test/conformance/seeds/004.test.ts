import { follow } from '../../support/seed.js'
import { boot, rows } from './004.js'

follow('004', rows, boot)
