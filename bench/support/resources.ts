/** Resources that a process uses, from /proc on Linux. */
import { readdir, readFile } from "node:fs/promises"

/** Resident memory in MiB. */
export const resident = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** Kernel ticks per second; 100 on every Linux that Node supports. */
const ticks = 100

const statOf = async (pid: string | number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  // The name may contain anything and ends with the last bracket. After it, the parent is field 1; utime, stime and the
  // same of children that have ended are fields 11 to 14.
  const end = stat.lastIndexOf(")")
  const fields = stat
    .slice(end + 2)
    .split(" ")
    .map(Number)
  const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = fields.slice(11, 15)
  return {
    pid: Number(pid),
    name: stat.slice(stat.indexOf("(") + 1, end),
    parent: fields[1],
    seconds: (user + system) / ticks,
    ended: (ofChildren + systemOfChildren) / ticks
  }
}

/** Processor time of all threads so far, in seconds. */
export const processorTime = async (pid: number) => (await statOf(pid)).seconds

export interface ProcessorTimes {
  readonly service: number
  readonly postgres: number
}

/** A process and all that it has started, each with those it has started. */
const treeOf = async (pid: number) => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const stats = (await Promise.allSettled(pids.map(statOf))).flatMap((read) =>
    read.status === "fulfilled" ? [read.value] : []
  )
  const children = Map.groupBy(stats, ({ parent }) => parent)
  const withChildren = (stat: (typeof stats)[number]): typeof stats => [
    stat,
    ...(children.get(stat.pid) ?? []).flatMap(withChildren)
  ]
  return stats.filter((stat) => stat.pid === pid).flatMap(withChildren)
}

/** Processor time in seconds of the service's own processes, and of the PostgreSQL that it started. */
export const processorTimes = async (pid: number): Promise<ProcessorTimes> => {
  const times = { service: 0, postgres: 0 }
  for (const { ended, name, seconds } of await treeOf(pid)) {
    // Backends that have ended are counted with their server.
    if (name === "postgres") times.postgres += seconds + ended
    else times.service += seconds
  }
  return times
}

/**
 * Processor time in seconds of a process, of all that it has started, and of the programs that this process has run: with
 * other work on the machine, it says more than a duration.
 */
export const processorTimeOfAll = async (pid: number) => {
  const [tree, own] = await Promise.all([treeOf(pid), statOf(process.pid)])
  return own.ended + tree.reduce((sum, { ended, seconds }) => sum + seconds + ended, 0)
}

export interface Memory {
  readonly service: number
  readonly postgres: number
}

/**
 * Memory in MiB of the service's own processes and of the PostgreSQL that it started, whose processes share much: of
 * theirs each counts its share. Both are 0 when the service has ended.
 */
export const memoryOf = async (pid: number): Promise<Memory> => {
  const memory = { service: 0, postgres: 0 }
  const add = async ({ name, pid }: Awaited<ReturnType<typeof statOf>>) => {
    if (name !== "postgres") memory.service += await resident(pid)
    else {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8")
      memory.postgres += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024
    }
  }
  // Some processes end meanwhile.
  await Promise.allSettled((await treeOf(pid)).map(add))
  return memory
}

/** Resident memory every `interval` ms while `use` runs, in MiB. */
export const watched = async (pid: number, use: () => Promise<void>, interval = 250) => {
  const samples: Array<number> = []
  const timer = setInterval(() => void resident(pid).then((mebibytes) => samples.push(mebibytes)), interval)
  await use().finally(() => clearInterval(timer))
  return samples
}
