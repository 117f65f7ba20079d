import { follow } from '../../support/seed.js'
import { files, rows } from './001.js'

follow('001', rows, { files, dialects: ['classic'], config: { sandbox: { mode: 'off' } } })
