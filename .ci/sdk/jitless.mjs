// Read before any schema is made: compiling schemas to code costs more than one connection gains.
import { config } from 'zod/v4/core'

config({ jitless: true })
