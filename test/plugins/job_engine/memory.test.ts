import { describe } from 'vitest'
import { openEngine, testJobEngine } from '../../support/job_engines.js'

describe('the job engine memory', () => testJobEngine(false, () => openEngine('memory')))
