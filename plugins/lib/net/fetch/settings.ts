import type { Settings } from '../../../../core/shapes/index.js'

/** The block `web` of the settings, by which pages are fetched. */
export type WebSettings = Settings['web']
