#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { programFile } from './base/index.js'
import { keepCompiled } from './cli/index.js'

// All that a start may do without: the rest of the program is loaded when the front of a verb, if it has one, has had its say.
keepCompiled()
// A person without a verb gets the chat.
const verb = process.argv[2] ?? (process.stdin.isTTY ? 'chat' : '')
const place = /^[a-z]+$/.test(verb) ? programFile(`plugins/surface/${verb}/front.js`) : ''
const { default: front } = existsSync(place) ? ((await import(pathToFileURL(place).href)) as { default: () => Promise<unknown> }) : {}
const said = await front?.()
const { startProgram } = await import('./main.js')
await startProgram(said)
