import { follow } from '../../support/seed.js'
import { rows as guidance } from './000/guidance.js'
import { rows as install } from './000/install.js'
import { rows as outline } from './000/outline.js'
import { rows as recovery } from './000/recovery.js'
import { rows as structural } from './000/structural.js'
import { rows as tools } from './000/tools.js'
import { rows as card } from './card.js'
import { boot } from './000/workspace.js'

follow('card', card)
follow('000', [...tools, ...structural, ...install, ...outline, ...guidance, ...recovery], boot)
