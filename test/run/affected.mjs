// Finds the tests that a change can affect, nearest first, from the import graph of sources, manifests and tests.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { parse } from 'yaml'

/** Weight of an edge: how weakly one file depends on another. */
const IMPORT = 1
/** A test names the tool and the action, or the verb, that a manifest declares. */
const MENTION = 1
/** A test uses the front door of the package: it can reach everything that the kernel imports. */
const FRONT_DOOR = 3
/** Exports of the package, by the names under which tests import them. */
const DOORS = {
  vtcode: 'core/index.ts',
  'vtcode/agent': 'plugins/agent/index.ts',
  'vtcode/trace': 'plugins/agent/records/index.ts',
  'vtcode/tui': 'plugins/tui/index.ts',
  'vtcode/ai': 'plugins/surface/mcp/embedded.ts',
  'vtcode/test': 'test/kit.ts',
}
/** Tests that read whole folders instead of importing them. */
const READERS = [
  {
    test: /^test\/house(?:\/|\.test)/,
    reads: /^(?:\.ci|core|plugins|test|manifests)\/|^docs\/security\.md$|^package(?:-lock)?\.json$|^tsconfig\.json$/,
  },
  {
    test: /^test\/(?:pages\/|(?:pages|contract)\.test)/,
    reads: /^(?:docs\/|README\.md|CHANGELOG\.md|core\/README\.md)/,
  },
  {
    test: /^test\/types\.test\.ts$/,
    reads: /^(?:manifests\/|scripts\/types\.mjs|core\/base\/settings_types\.ts|package\.json)/,
  },
  { test: /^test\/skills\//, reads: /^skills\// },
  { test: /^test\/kit\.test\.ts$/, reads: /^test\/(?:kit\/|fixtures\/)/ },
]

/**
 * Returns the test files that `changed` can affect with their distance, nearest first. Paths are relative to `root` with slashes. Distance 0 is a
 * changed test and the test that has the name of a changed source, 1 the tests of the same folder; each import or mention in between adds 1,
 * the front door of the package 3.
 */
export function findAffected(root, changed, { files, users } = readGraph(root)) {
  const distances = new Map()
  // Dijkstra over few small weights: a list of files for each distance.
  const queue = [[...changed]]
  for (const [test, source] of namesakes(files)) if (changed.includes(source)) queue[0].push(test)
  for (const file of files.filter(isTest))
    if (changed.some((source) => source.includes('/') && dirname(file) === join('test', dirname(source))))
      (queue[1] ??= []).push(file)
  for (const { test, reads } of READERS)
    if (changed.some((file) => reads.test(file))) (queue[1] ??= []).push(...files.filter((file) => test.test(file)))
  for (let distance = 0; distance < queue.length; distance++) {
    for (const file of queue[distance] ?? []) {
      if (distances.has(file)) continue
      distances.set(file, distance)
      for (const [user, weight] of users.get(file) ?? []) (queue[distance + weight] ??= []).push(user)
    }
  }
  const affected = [...distances].filter(([file]) => isTest(file) && existsSync(join(root, file)))
  return affected
    .map(([file, distance]) => ({ file, distance }))
    .sort((a, b) => a.distance - b.distance || (a.file < b.file ? -1 : 1))
}

/** Reads all files of a checkout, and which of them use which. */
export function readGraph(root) {
  const files = listFiles(root)
  return { files, users: reverseEdges(root, files) }
}

const isTest = (file) => file.endsWith('.test.ts')

function listFiles(root) {
  const folders = ['core', 'plugins', 'manifests', 'skills', 'test'].filter((folder) => existsSync(join(root, folder)))
  const names = (folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
  return folders.flatMap(names).filter((file) => /\.(?:ts|mjs|yaml|json|md)$/.test(file))
}

/** Returns for each file the files that use it, with the weight of the edge. */
function reverseEdges(root, files) {
  const users = new Map()
  const add = (user, used, weight) => {
    if (!users.has(used)) users.set(used, [])
    users.get(used).push([user, weight])
  }
  const text = (file) => readFileSync(join(root, file), 'utf8')
  const manifests = files
    .filter((file) => file.startsWith('manifests/') && file.endsWith('.yaml'))
    .map((file) => ({ file, manifest: parse(text(file)) ?? {} }))
  for (const { file, manifest } of manifests) {
    const module = manifest.module ?? manifest.alias?.module
    if (typeof module === 'string') add(file, normalize(join(dirname(file), module)).replace(/\.js$/, '.ts'), 0)
  }
  for (const file of files.filter((name) => /\.(?:ts|mjs)$/.test(name))) {
    const source = text(file)
    for (const { fileName } of ts.preProcessFile(source, true, true).importedFiles) {
      const used = resolveImport(file, fileName)
      if (used !== undefined) add(file, used, fileName === 'vtcode' || fileName === 'vtcode/test' ? FRONT_DOOR : IMPORT)
    }
    if (file.startsWith('test/')) for (const { file: used } of mentioned(source, manifests)) add(file, used, MENTION)
  }
  return users
}

/** Tests import sources as `build/…`, where the compiler puts them, or by a name of the package. */
function resolveImport(file, name) {
  if (name in DOORS) return DOORS[name]
  if (!name.startsWith('.')) return undefined
  return normalize(join(dirname(file), name))
    .replace(/^(?:build|dist)\//, '')
    .replace(/\.js$/, '.ts')
}

/** The manifests whose tool and action, verb or own name occur in the string literals of a test. */
function mentioned(source, manifests) {
  const words = new Set(
    [...source.matchAll(/'[^'\n]*'|"[^"\n]*"|`[^`]*`/g)].flatMap(([literal]) => literal.match(/[a-z][a-z_]+/g) ?? []),
  )
  return manifests.filter(({ manifest }) => {
    const name = manifest.action ?? manifest.slot ?? manifest.verb ?? manifest.name
    return typeof name === 'string' && name.split('/').every((part) => words.has(part))
  })
}

/** `test/core/x/y.test.ts` is the test of `core/x/y.ts`, and of all files in `core/x/y/`. */
function* namesakes(files) {
  const tests = new Set(files.filter(isTest))
  for (const source of files) {
    const parts = source.replace(/\.\w+$/, '').split('/')
    for (let length = parts.length; length > 1; length--) {
      const test = `test/${parts.slice(0, length).join('/')}.test.ts`
      if (tests.has(test)) yield [test, source]
    }
  }
}
