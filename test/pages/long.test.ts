import { followPages, longPages } from '../support/manual.js'

followPages(longPages)
