import { followPages, longPages, manual } from '../support/manual.js'

followPages(manual.filter((name) => !longPages.includes(name)))
