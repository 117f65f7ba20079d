import { follow } from '../../support/seed.js'
import { files, rows } from './002.js'

follow('002', rows, { files, dialects: ['omp'] })
