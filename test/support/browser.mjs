#!/usr/bin/env node
// A browser whose user agrees to everything.
await fetch(process.argv[2])
