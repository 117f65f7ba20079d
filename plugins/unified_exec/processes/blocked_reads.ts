import { closeSync, openSync, readSync } from 'node:fs'
import { readSystemFile } from '../../lib/base/index.js'

/** The way in which a system call names the descriptors that it waits for. */
type WaitKind = 'read' | 'poll' | 'select' | 'epoll'

/** The numbers of the system calls of Linux that wait until a descriptor can be read, by processor. */
const WAIT_CALLS: Partial<Record<NodeJS.Architecture, Record<WaitKind, readonly number[]>>> = {
  // read, readv, recvfrom, recvmsg; poll, ppoll; select, pselect6; epoll_wait, epoll_pwait, epoll_pwait2
  x64: { read: [0, 19, 45, 47], poll: [7, 271], select: [23, 270], epoll: [232, 281, 441] },
  arm64: { read: [63, 65, 207, 212], poll: [73], select: [72], epoll: [22, 441] },
}

const MAX_DESCRIPTORS = 1024
/** POLLIN, POLLPRI and POLLRDNORM; those of epoll have the same values. */
const READABLE = 0x43

/**
 * Returns the descriptors that a sleeping thread waits to read from; none if it waits for something else or runs.
 * `undefined` where the system does not report it. Source of the formats: proc(5), poll(2), select(2).
 */
export function listBlockedReads(pid: number, tid: number): number[] | undefined {
  const calls = WAIT_CALLS[process.arch]
  const text = readSystemFile(`/proc/${pid}/task/${tid}/syscall`).trim()
  if (!calls || text === '') return undefined
  const [number = 0, first = 0, second = 0] = text.split(' ').map(Number)
  const [kind] = Object.entries(calls).find(([, numbers]) => numbers.includes(number)) ?? []
  switch (kind as WaitKind | undefined) {
    case 'read':
      return [first]
    case 'poll':
      return readMemory(pid, first, Math.min(second, MAX_DESCRIPTORS) * 8, listPolled)
    case 'select':
      return second === 0 ? [] : readMemory(pid, second, Math.ceil(Math.min(first, MAX_DESCRIPTORS) / 8), listSelected)
    case 'epoll':
      return listEpolled(readSystemFile(`/proc/${pid}/fdinfo/${first}`))
    default:
      return []
  }
}

/** Returns the descriptors of an array of `struct pollfd`. */
function listPolled(bytes: Buffer): number[] {
  const found: number[] = []
  for (let at = 0; at + 8 <= bytes.length; at += 8)
    if ((bytes.readInt16LE(at + 4) & READABLE) !== 0) found.push(bytes.readInt32LE(at))
  return found
}

/** Returns the descriptors of an `fd_set`. */
const listSelected = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length * 8 }, (_, fd) => fd).filter((fd) => (bytes[fd >> 3]! & (1 << (fd & 7))) !== 0)

/** Returns the descriptors of an epoll instance, from the lines `tfd: <number> events: <hexadecimal> …`. */
const listEpolled = (info: string): number[] =>
  [...info.matchAll(/^tfd:\s+(\d+) events:\s+([\da-f]+)/gm)].flatMap(([, fd, events]) =>
    (Number.parseInt(events!, 16) & READABLE) === 0 ? [] : [Number(fd)],
  )

/** Reads the memory of a process that we started; `undefined` where the system refuses that. */
function readMemory<T>(pid: number, at: number, length: number, parse: (bytes: Buffer) => T): T | undefined {
  let fd: number | undefined
  try {
    fd = openSync(`/proc/${pid}/mem`, 'r')
    const bytes = Buffer.alloc(length)
    return parse(bytes.subarray(0, readSync(fd, bytes, 0, length, at)))
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
