import type { Settings } from '../../../../core/shapes/index.js'

/** Block `web` of the settings, used to fetch pages. */
export type WebSettings = Settings['web']
